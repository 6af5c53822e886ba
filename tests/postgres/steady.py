"""Processes that go on (steady.c), and the books that are kept of what they were told."""
import os
import queue
import subprocess
import threading
import time

PATIENCE_S = 120


class Steady:
    def __init__(self, program, url, module_dir):
        self.process = subprocess.Popen([program, url], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "PAWL_MODULE_DIR": module_dir})
        self.lines = queue.Queue()
        self.said = {"accepted": [], "completed": [], "error": []}
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            kind, what = line.split()
            self.said[kind].append(what)
            self.lines.put(kind)

    def await_accepted(self, count):
        """So many from now on."""
        while not self.lines.empty():
            self.lines.get()
        until = time.monotonic() + PATIENCE_S
        while count:
            kind = self.lines.get(timeout=max(0.001, until - time.monotonic()))
            count -= kind == "accepted"

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.reader.join()


def count(postgres, place, ids, more="true"):
    listed = ",".join(f"'{i}'" for i in ids)
    return int(postgres.sql(f"SELECT count(*) FROM {place}.pawl_job WHERE id IN ({listed}) AND "
                            + more))


def audit(postgres, clients, place="public"):
    """What is wrong with the books, in words. Nothing: what was accepted is there, and what was
    completed is completed, once."""
    accepted = [i for steady in clients for i in steady.said["accepted"]]
    completed = [i for steady in clients for i in steady.said["completed"]]
    print(f"# {len(accepted)} accepted, {len(completed)} completed, "
          f"{sum(len(steady.said['error']) for steady in clients)} errors meanwhile")
    wrong = []
    if not len(set(accepted)) == len(accepted) == count(postgres, place, accepted):
        wrong.append("accepted jobs are lost")
    done = count(postgres, place, completed, "state = 7")
    if not len(set(completed)) == len(completed) == done:
        wrong.append("completed jobs are not completed, or twice")
    if any(steady.process.returncode for steady in clients):
        wrong.append("a process has given up")
    return wrong
