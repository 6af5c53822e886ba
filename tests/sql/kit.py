"""What tests of jobs from SQL share: programs that are spoken to, records without times, TAP."""
import queue
import re
import subprocess
import threading
import traceback

PATIENCE_S = 120
TESTS = []


def test(function):
    """Marks a test: it is called with a store, and proves what its name says."""
    TESTS.append(function)
    return function


class Program:
    """A program that is spoken to in lines."""

    def __init__(self, args, cwd=None):
        self.process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, cwd=cwd)
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def say(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def line(self):
        return self.lines.get(timeout=PATIENCE_S)

    def ask(self, text):
        self.say(text)
        return self.line()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


CLOCKS = "created_at|due_at|started_at|lease_until|finished_at|expires_at|at|failed_at"


def timeless(value):
    """A record without ids and without times, but for those of the year 3000."""
    if isinstance(value, list):
        return [timeless(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: "time" if re.fullmatch(CLOCKS, key) and isinstance(each, str)
            and not each.startswith("3000") else timeless(each)
            for key, each in value.items() if key != "id"}


def run(number, function, make):
    """Each test has a store of its own, which `make` makes, and which is looked at when it is
    closed."""
    failed, place = None, None
    try:
        place = make(number)
        function(place)
    except Exception as why:  # whatever it is, it is this test's
        failed = why
    try:
        if place:
            place.close()
    except Exception as why:
        failed = failed or why
    print(f"{'not ok' if failed else 'ok'} {number} - {function.__name__}", flush=True)
    if failed:
        for line in "".join(traceback.format_exception(failed)).splitlines():
            print("#", line)
    return failed is None


def run_all(names, make):
    """Those that are named, or all; the exit status."""
    chosen = [each for each in TESTS if not names or each.__name__ in names]
    passed = [run(number, each, make) for number, each in enumerate(chosen, 1)]
    print(f"1..{len(chosen)}")
    return 0 if all(passed) else 1
