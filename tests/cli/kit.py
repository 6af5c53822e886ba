"""What the tests of the command line share: running the binary, a terminal, TAP."""
import fcntl
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import traceback

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import outside

# Ignored signals are inherited, as under nohup or in a shell's background; restore them.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

PAWL = os.path.abspath(sys.argv[1])
WORKER = os.path.abspath(sys.argv[2])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
AT_THE_STORE = ("migrate", "check", "backup", "upkeep", "token", "serve")
POSTGRES = outside.POSTGRES  # postgres_test.py
SERVED = os.environ.get("PAWL_TEST_SERVED") == "1"  # commands ask a server: server_test.py
DEADLINE_S = 120  # nothing waits longer, however slow a sanitizer makes things

TESTS = []


def test(function):
    """Marks a test: it is called with a Box, and proves what its name says."""
    TESTS.append(function)
    return function


class Skip(Exception):
    """A test that cannot be made here; the reason is its text."""


class Done:
    """What a command left behind."""

    def __init__(self, args, code, out, err):
        self.args, self.code, self.out, self.err = args, code, out, err

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]

    def __str__(self):
        return (f"pawl {' '.join(self.args)}\n  exit code {self.code}\n"
                f"  stdout {self.out[:2000]!r}\n  stderr {self.err[:2000]!r}")


class Box:
    """A directory with a store in it, and an environment in which nothing is set; or a store
    elsewhere, which then is."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="pawl-cli-")
        self.store = outside.make_store(self.path)
        keep = ("PATH", "HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS",
                "PAWL_MODULE_DIR")
        self.env = {name: os.environ[name] for name in keep if name in os.environ}
        self.env.update(USER="tester", TERM="xterm", LC_ALL="C.UTF-8")
        if POSTGRES:
            self.env["PAWL_STORE"] = self.store
        self.servers = []
        if SERVED:
            self.env["PAWL_SERVER"] = self.serve()

    def serve(self, *args):
        """Starts a server on the store, for as long as the box is there, and returns its URL."""
        server = subprocess.Popen(
            [PAWL, "serve", "--store", self.store, "--listen", "127.0.0.1:0", "--log-level",
             "error", *args], cwd=self.path, env=self.env, text=True, stdout=subprocess.PIPE)
        self.servers.append(server)
        line = server.stdout.readline()
        assert line.startswith("serving http"), line
        return line.split()[1]

    def close(self):
        for server in self.servers:
            server.terminate()
        for server in self.servers:
            server.wait(DEADLINE_S)
            server.stdout.close()
        shutil.rmtree(self.path, ignore_errors=True)

    def has_no_store(self):
        equal(self.run("migrate", "--check").out, 'schema: none yet; "pawl migrate" creates it\n')
        equal(os.listdir(self.path), [])

    def held(self):
        """Locks the store for writing by others."""
        return outside.hold(self.store)

    def file(self, name, text=None):
        path = os.path.join(self.path, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def run(self, *args, stdin="", env=None, stdout=subprocess.PIPE):
        args = [str(arg) for arg in args]
        if SERVED and args[0] in AT_THE_STORE:
            env = {**(env or {}), "PAWL_SERVER": ""}
        done = subprocess.run([PAWL, *args], input=stdin, cwd=self.path, stdout=stdout,
                              stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S, check=False,
                              env={**self.env, **(env or {})})
        return Done(args, done.returncode, done.stdout or "", done.stderr)

    def ok(self, *args, **options):
        done = self.run(*args, **options)
        assert done.code == 0, done
        return done

    def fails(self, code, *args, **options):
        done = self.run(*args, **options)
        assert done.code == code, f"exit code {code} was expected\n{done}"
        assert done.err.startswith("pawl: "), done
        assert done.err.count("hint: ") <= 1, done
        return done

    def submit(self, *args):
        """Adds a job and returns its id."""
        return self.ok("submit", *args).out.strip()

    def job(self, job_id):
        return self.ok("show", job_id, "--json").json

    def state(self, job_id):
        return self.job(job_id)["state"]

    def work(self, *steps):
        done = subprocess.run([WORKER, self.store, *steps], stdout=subprocess.PIPE, text=True,
                              timeout=DEADLINE_S, check=True, env=self.env)
        return done.stdout.split()

    def start(self, *args, **options):
        return subprocess.Popen([PAWL, *args], cwd=self.path, env=self.env, text=True, **options)


def until(what, *args):
    """Waits until what(*args) is true, and returns that."""
    end = time.monotonic() + DEADLINE_S
    while True:
        got = what(*args)
        if got:
            return got
        assert time.monotonic() < end, f"{what.__name__}{args} did not come true"
        time.sleep(0.02)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Terminal:
    """A command whose standard streams are a terminal."""

    def __init__(self, box, *args, columns=80, rows=24, stdin=True, env=None):
        self.args = [str(arg) for arg in args]
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

        def adopt():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            [PAWL, *self.args], cwd=box.path, env={**box.env, **(env or {})}, preexec_fn=adopt,
            stdin=slave if stdin is True else stdin, stdout=slave, stderr=slave)
        os.close(slave)
        self.master, self.text = master, ""

    def read(self, until=None, times=1):
        """Reads until the text has come that often, or until the command ends."""
        end = time.monotonic() + DEADLINE_S
        while until is None or self.text.count(until) < times:
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            assert ready, f"pawl {self.args}: nothing more came\n{self.text!r}"
            try:
                more = os.read(self.master, 65536)
            except OSError:  # the other end is closed
                more = b""
            if not more:
                assert until is None, f"pawl {self.args}: no {until!r} in\n{self.text!r}"
                break
            self.text += more.decode("utf-8", "replace")
        return self.text

    def type(self, text):
        os.write(self.master, text.encode())

    def end(self):
        """Exit code; `text` is all that was printed."""
        self.read()
        code = self.process.wait(DEADLINE_S)
        os.close(self.master)
        self.text = self.text.replace("\r\n", "\n")
        return code


def equal(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def has(text, part):
    assert part in text, f"no {part!r} in {text!r}"


def main(left_out=()):
    """Runs all tests, or those named on the command line, and prints TAP."""
    wanted = sys.argv[3:]
    unknown = set(left_out) - {t.__name__ for t in TESTS}
    assert not unknown, f"there are no such tests: {unknown}"
    chosen = [t for t in TESTS
              if (t.__name__ in wanted if wanted else t.__name__ not in left_out)]
    print(f"1..{len(chosen)}", flush=True)
    failed = 0
    for number, function in enumerate(chosen, 1):
        box = Box()
        trouble, note = None, ""
        try:
            function(box)
        except Skip as reason:
            note = f" # SKIP {reason}"
        except Exception:  # pylint: disable=broad-except
            trouble = traceback.format_exc()
        finally:
            box.close()
        failed += trouble is not None
        print(f"{'not ' if trouble else ''}ok {number} - {function.__name__}{note}", flush=True)
        for line in (trouble or "").splitlines():
            print("# " + line, flush=True)
    sys.exit(1 if failed else 0)
