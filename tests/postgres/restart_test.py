#!/usr/bin/env python3
"""Processes at work while their server crashes and is restarted: they come back by themselves, and
nothing that was accepted is lost. Speaks TAP.

Usage: restart_test.py MODULE_DIR STEADY
"""
import os
import queue
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
import server

PATIENCE_S = 60
TURNS = 40  # jobs that each must get accepted between two disasters


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
        until = time.monotonic() + PATIENCE_S
        while count:
            kind = self.lines.get(timeout=max(0.001, until - time.monotonic()))
            count -= kind == "accepted"

    def forget(self):
        while not self.lines.empty():
            self.lines.get()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.reader.join()


def count(postgres, table, ids):
    listed = ",".join(f"'{i}'" for i in ids)
    return int(postgres.sql(f"SELECT count(*) FROM {table} WHERE id IN ({listed})"))


def check(number, passed, what):
    print(f"{'ok' if passed else 'not ok'} {number} - {what}", flush=True)


def main():
    module_dir, program = sys.argv[1:3]
    if not server.find_binaries():
        print("1..0 # SKIP there is no PostgreSQL server here (on Debian: postgresql-15)")
        return
    with server.Server("fsync = on\n") as postgres:
        crew = [Steady(program, postgres.url, module_dir) for _ in range(2)]
        for how in (signal.SIGQUIT, signal.SIGINT):
            for steady in crew:
                steady.forget()
                steady.await_accepted(TURNS)
            postgres.stop(how)
            time.sleep(0.3)  # long enough that somebody meets a server that is not there
            postgres.start()
        for steady in crew:
            steady.forget()
            steady.await_accepted(TURNS)
            steady.close()
        accepted = [i for steady in crew for i in steady.said["accepted"]]
        completed = [i for steady in crew for i in steady.said["completed"]]
        print(f"# {len(accepted)} accepted, {len(completed)} completed, "
              f"{sum(len(s.said['error']) for s in crew)} errors meanwhile")
        check(1, all(s.process.returncode == 0 for s in crew), "processes_go_on_by_themselves")
        check(2, len(set(accepted)) == len(accepted) == count(postgres, "pawl_job", accepted),
              "accepted_jobs_are_there")
        check(3, len(set(completed)) == len(completed) == count(postgres, "pawl_done", completed),
              "completed_jobs_are_completed_once")
    print("1..3")


if __name__ == "__main__":
    main()
