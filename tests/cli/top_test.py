"""pawl top: what it draws, its keys, and that it restores the terminal."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from kit import DEADLINE_S, PAWL, POSTGRES, Terminal, equal, has, test

ENTER = "\x1b[?1049h\x1b[?25l"
LEAVE = "\x1b[?25h\x1b[?1049l"
SEQUENCE = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])")
HOME = "\x1b[H"


class Screen:
    """What a terminal shows. Knows the few sequences that are to be used, and no others: whatever
    a job's texts smuggle in is an error."""

    def __init__(self, rows, columns):
        self.resize(rows, columns)

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.y = self.x = 0

    def feed(self, text):
        at = 0
        while at < len(text):
            found = SEQUENCE.match(text, at)
            if found:
                self.obey(*found.groups())
                at = found.end()
                continue
            char = text[at]
            at += 1
            if char == "\r":
                self.x = 0
            elif char == "\n":
                self.y += 1
                assert self.y < self.rows, "the screen scrolled"
            else:
                assert char.isprintable(), f"{char!r} reached the terminal in {text!r}"
                assert self.x < self.columns, f"line {self.y} is too long: {self.lines()[self.y]}"
                self.cells[self.y][self.x] = char
                self.x += 1

    def obey(self, arguments, last):
        if last == "H":
            equal(arguments, "")
            self.y = self.x = 0
        elif last == "K":
            equal(arguments, "")
            self.cells[self.y][self.x:] = [" "] * (self.columns - self.x)
        elif last == "J":
            equal(arguments, "2")
            self.resize(self.rows, self.columns)
        elif last in "hl":
            assert arguments in ("?1049", "?25"), arguments
        else:
            equal(last, "m")

    def lines(self):
        return ["".join(line).rstrip() for line in self.cells]


class Top:
    """pawl top in a terminal that can be read."""

    def __init__(self, box, *args, columns=80, rows=24, **options):
        self.terminal = Terminal(box, "top", "--interval", "200ms", *args, columns=columns,
                                 rows=rows, **options)
        self.master = self.terminal.master
        self.screen = Screen(rows, columns)
        self.rest, self.text = "", ""
        self.first = self.frame()  # from now on keys are not echoed

    def more(self):
        """Waits for something to be drawn."""
        ready, _, _ = select.select([self.master], [], [], DEADLINE_S)
        assert ready, "nothing more was drawn:\n" + str(self)
        try:
            part = os.read(self.master, 65536).decode()
        except OSError:
            part = ""
        assert part, f"it ended: {self.text!r}\n{self}"
        self.rest += part
        self.text += part

    def frame(self):
        """The next frame, whole."""
        while True:
            start = self.rest.find(HOME)
            lines = self.rest.count("\x1b[K", max(start, 0))
            if start >= 0 and lines >= self.screen.rows:
                break
            self.more()
        end = start
        for _ in range(self.screen.rows):
            end = self.rest.index("\x1b[K", end) + 3
        self.screen.feed(self.rest[:end])
        self.rest = self.rest[end:]
        return self.screen.lines()

    def until(self, wanted):
        """Frames until one has the text, or until the function likes it."""
        end = time.monotonic() + DEADLINE_S
        like = wanted if callable(wanted) else lambda lines: any(wanted in x for x in lines)
        while time.monotonic() < end:
            if like(self.frame()):
                return self.screen.lines()
        raise AssertionError(f"{wanted!r} was never drawn:\n{self}")

    def line(self, part):
        """The line that holds the text, once there is one."""
        return next(x for x in self.until(part) if part in x)

    def chosen(self, part):
        """Waits until the chosen row is the one with the text."""
        return self.until(lambda lines: any(x.startswith("> ") and part in x for x in lines))

    def type(self, keys):
        os.write(self.master, keys.encode())

    def quit(self, code=0):
        self.type("q")
        return self.ended(code)

    def ended(self, code):
        """Its exit code is this, and the terminal is as it was."""
        while True:
            try:
                part = os.read(self.master, 65536).decode()
            except OSError:
                part = ""
            if not part:
                break
            self.text += part
        equal(self.terminal.process.wait(DEADLINE_S), code)
        assert self.text.endswith(LEAVE), self.text[-100:]
        equal(self.text.count(ENTER), self.text.count(LEAVE))
        os.close(self.master)
        return self.text

    def __str__(self):
        return "\n".join(self.screen.lines())


def hold(top):
    """Our own hold on the terminal, so that its settings outlive the program."""
    return os.open(os.readlink(f"/proc/{top.terminal.process.pid}/fd/0"), os.O_RDWR | os.O_NOCTTY)


def resize(top, rows, columns):
    fcntl.ioctl(top.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def fill(box):
    """Jobs of all kinds; returns the ids of one that runs, one to be retried and one given up."""
    box.ok("submit", "-", stdin='{"type":"mail.send","queue":"mail"}\n' * 3 +
           '{"type":"report","delay":"1h"}\n' * 2)
    running = box.submit("slow.job", "--queue", "run")
    retried = box.submit("flaky.job", "--queue", "fail", "--retry-initial", "1h")
    ended = box.submit("bad.job", "--queue", "fail")
    box.work("claim:run")
    box.work("claim:fail", "fail:net.down:no route to host")
    box.work("claim:fail", "end:auth.denied:wrong password")
    box.work("node:node-a")
    return running, retried, ended


# ---- what is drawn ----

@test
def top_draws_counts_queues_jobs_and_nodes(box):
    fill(box)
    box.ok("queue", "pause", "mail")
    top = Top(box, columns=100)
    lines = top.first
    has(lines[0], "pawl top")
    has(lines[0], "postgres:///postgres?host=" if POSTGRES else "sqlite:pawl.db")
    has(lines[1], "available 3  active 1  scheduled 2  retryable 1  discarded 1")
    has(lines[2], "submitted -/s  completed -/s  failed -/s  next due in 59m")
    has(lines[3], "1 node: node-a (0 active, ")
    has(lines, "> default              0       0      2      0      0       -")
    has(lines, "  mail     paused      3       0      0      0      0       -")
    assert re.search(r"slow\.job +run +worker-1 +1/3 +\d+s$", top.line("slow.job")), str(top)
    has(top.line("flaky.job"), "fail   retryable  1/3")
    has(top.line("flaky.job"), "net.down: no route to host")
    has(top.line("bad.job"), "auth.denied: wrong password")
    # The latest failure comes first.
    assert str(top).index("bad.job") < str(top).index("flaky.job"), str(top)
    has(top.line("q quit"), "? help")
    top.quit()


@test
def top_counts_what_happens_between_looks(box):
    box.submit("t")
    top = Top(box)
    top.until("submitted 0.0/s  completed 0.0/s  failed 0.0/s")
    box.work("claim:default", "complete:1")
    top.until(lambda lines: re.search(r"completed ([1-9]|0\.[1-9])", lines[2]) and
              re.search(r"default .* ([1-9]|0\.[1-9])\S*$", lines[5]))
    top.until("completed 0.0/s")
    # What is archived has not been completed again, nor taken back.
    box.ok("upkeep", "--archive-after", "0s")
    top.until("archived 1")
    has(top.screen.lines()[2], "submitted 0.0/s  completed 0.0/s  failed 0.0/s")
    box.submit("t", "--queue", "new", "--retry-initial", "1h")
    top.until(lambda lines: re.search(r"submitted ([1-9]|0\.[1-9])", lines[2]))
    box.work("claim:new", "fail:x:y")
    top.until(lambda lines: re.search(r"failed ([1-9]|0\.[1-9])", lines[2]))
    top.quit()


@test
def top_keeps_to_the_queues_that_are_named(box):
    fill(box)
    top = Top(box, "--queue", "fail", "--queue", "nowhere")
    lines = top.until("flaky.job")
    has(lines[1], "available 0  active 0  scheduled 0  retryable 1  discarded 1")
    for other in ("mail", "default", "slow.job"):
        assert other not in str(top), str(top)
    top.quit()
    shown = box.ok("top", "--queue", "run", "--json").json
    equal([q["queue"] for q in shown["queues"]], ["run"])
    equal((len(shown["running"]), len(shown["failed"])), (1, 0))
    equal(shown["states"]["discarded"], 0)


@test
def top_fits_sixty_columns_and_fifteen_lines(box):
    running, _, ended = fill(box)
    for queue in "abcdefgh":
        box.submit("t", "--queue", "a-queue-with-a-rather-long-name-" + queue)
    top = Top(box, columns=60, rows=15)
    lines = top.until("FAILED")
    assert any(running[-12:] in line for line in lines), str(top)
    assert any(ended[-12:] in line and "auth.denied" in line for line in lines), str(top)
    has(top.line("AVAIL"), "QUEUE 1/12")
    equal(max(len(line) for line in lines) < 60, True)
    top.type("\t")
    has(top.line("> " + running[-12:]), "slow.job")
    has(top.screen.lines()[-1], running + "  ? help  q quit")
    top.type("c")
    has(top.line("cancel job"), f"cancel job {running}? y/n")
    top.type("n")
    top.quit()


@test
def top_reports_a_terminal_that_is_too_small(box):
    fill(box)
    top = Top(box, columns=59, rows=24)
    equal(top.first[:2], ["too small: pawl top needs 60 x 15", "q quit"])
    top.type("pcry")
    top.frame()
    equal([q["paused"] for q in box.ok("queue", "list", "--json").json], [False] * 4)
    top.quit()
    for columns, rows in ((1, 1), (4, 2), (200, 3), (10, 100)):
        top = Top(box, columns=columns, rows=rows)
        top.frame()
        top.quit()


@test
def top_follows_the_size_of_the_window(box):
    fill(box)
    top = Top(box, columns=80, rows=24)
    top.until("slow.job")
    top.frame()
    for rows, columns in ((40, 130), (15, 60), (5, 20), (24, 80)):
        resize(top, rows, columns)
        # Frames of the old size may still be on their way.
        while True:
            if HOME not in top.rest:
                top.more()
                continue
            start = top.rest.index(HOME)
            following = top.rest.find(HOME, start + 3)
            if following < 0:
                top.more()
                continue
            if top.rest.count("\x1b[K", start, following) == rows:
                break
            top.rest = top.rest[following:]
        top.screen.resize(rows, columns)
        top.until("too small" if rows == 5 else "slow.job")
        if rows != 5:
            has(top.screen.lines()[-1], "? help")
    top.quit()


@test
def top_explains_its_keys(box):
    fill(box)
    top = Top(box, rows=15, columns=60)
    top.until("slow.job")
    top.type("?")
    lines = top.until("cancel the job, after a confirmation")
    assert "slow.job" not in str(top), str(top)
    has(lines[-1], "press any key to return")
    top.type("\x1b")
    top.until("slow.job")
    top.quit()


@test
def top_has_colours_unless_they_are_not_wanted(box):
    fill(box)
    top = Top(box)
    top.until("slow.job")
    text = top.quit()
    assert "\x1b[7m" in text and "\x1b[31m" in text, text
    for env, args in (({"NO_COLOR": "1"}, ()), ({}, ("--no-color",))):
        top = Top(box, *args, env=env)
        top.until("slow.job")
        found = {last + arguments for arguments, last in SEQUENCE.findall(top.quit())}
        equal({x for x in found if x.startswith("m")}, {"m0"})  # when it leaves, to be sure


@test
def top_lets_no_control_character_of_a_job_through(box):
    box.submit("t", "--queue", "q", "--retry-initial", "1h")
    evil = "\x1b]0;owned\x07\x1b[2J\r\n\x9b31m\u202eevil\u2028\x7f"
    box.work("claim:q", "fail:bad:" + evil)
    box.submit("t", "--queue", "q")
    box.work("claim:q", "end:worse:" + evil)
    box.work("node:node" + evil)
    where = []
    if not POSTGRES:  # whose names have none
        os.mkdir(os.path.join(box.path, "x\x1b[31m\ny"))
        path = os.path.join("x\x1b[31m\ny", "pawl.db")
        box.ok("backup", path)
        where = ["--store", "sqlite:" + path]
    # The screen complains about all that it does not know.
    top = Top(box, *where, columns=160)
    lines = top.first
    has(lines[1], "retryable 1  discarded 1")
    has(lines[0], r"x\x1b[31m\ny" if where else "postgres:")
    has(lines[3], r"node\x1b]0;owned")
    equal(len([line for line in lines if r"\x1b]0;owned\x07" in line]), 3)
    top.type("\t\tr")
    top.until("is available now")
    top.quit()
    plain = box.ok("top", *where).out
    assert all(c == "\n" or c.isprintable() for c in plain), plain


# ---- keys ----

@test
def top_chooses_rows_with_arrows_and_letters(box):
    for queue in "abcd":
        box.submit("t", "--queue", "queue-" + queue)
    top = Top(box)
    top.chosen("queue-a")
    for keys, wanted in (("j", "b"), ("\x1b[B", "c"), ("\x1bOB", "d"), ("j", "d"), ("k", "c"),
                         ("\x1b[A", "b"), ("\x1bOA", "a"), ("k", "a"), ("\x1b[F", "d"),
                         ("\x1b[1~", "a"), ("jj", "c"), ("\x1b[5~", "a"), ("\x1b[6~", "d")):
        top.type(keys)
        top.chosen("queue-" + wanted)
    # What means nothing here does nothing.
    top.type("x\x1b[1;5A\x1b[200~\x1bxü\x00\x1b[99z")
    top.type(" ")
    top.frame()
    top.chosen("queue-d")
    top.type("\t")
    top.until(lambda lines: any(x.startswith("> RUNNING") for x in lines))
    top.type("\x1b[Z\x1b[Z")
    top.until(lambda lines: any(x.startswith("> FAILED") for x in lines))
    top.type("\t")
    top.chosen("queue-d")
    # Bytes of one key that come apart.
    top.type("\x1b")
    top.type("[A")
    top.chosen("queue-c")
    top.quit()


@test
def top_stays_with_the_chosen_row(box):
    box.submit("t", "--queue", "m")
    box.submit("t", "--queue", "n")
    top = Top(box)
    top.type("j")
    top.chosen(" n ")
    box.submit("t", "--queue", "a")
    box.submit("t", "--queue", "z")
    top.until(" a ")
    top.chosen(" n ")
    top.type("p")
    top.until('queue "n" is paused now')
    equal({q["queue"]: q["paused"] for q in box.ok("queue", "list", "--json").json},
          {"a": False, "m": False, "n": True, "z": False})
    top.quit()


@test
def top_scrolls_long_lists(box):
    box.ok("submit", "-", stdin="".join(f'{{"type":"t{n:02}","queue":"q"}}\n' for n in range(30)))
    for _ in range(30):
        box.work("claim:q")
    top = Top(box, rows=20)
    top.type("\t")
    top.until(lambda lines: any(x.startswith("> ") for x in lines))
    seen = set()
    for number in range(20):
        top.until(f"RUNNING {number + 1}/20")
        lines = top.screen.lines()
        chosen = [x.split()[2] for x in lines if x.startswith("> ")]
        equal(len(chosen), 1)
        seen.update(chosen)
        top.type("j")
    equal(len(seen), 20)
    top.quit()


@test
def top_pauses_and_resumes_a_queue(box):
    box.submit("t", "--queue", "mail")
    top = Top(box)
    top.chosen("mail")
    top.type("p")
    top.until('queue "mail" is paused now')
    has(top.line("> mail"), "paused")
    equal(box.ok("queue", "list", "--json").json[0]["paused"], True)
    top.type("p")
    top.until('queue "mail" is resumed now')
    equal(box.ok("queue", "list", "--json").json[0]["paused"], False)
    # Keys for jobs say so.
    top.type("c")
    top.until("select a job first")
    top.type("r")
    top.until("select a job first")
    top.quit()


@test
def top_asks_before_it_cancels(box):
    running, _, _ = fill(box)
    top = Top(box, "--actor", "ann")
    top.type("\t")
    top.chosen("slow.job")
    for key in ("n", "x", "\r", "\x1b"):
        top.type("c")
        top.until(f"cancel job {running} (slow.job)? y/n")
        top.type(key)
        top.until("nothing was done")
        equal(box.state(running), "active")
    # The question stays, and q is no answer to it but no.
    top.type("c")
    top.until("? y/n")
    top.frame()
    has(top.screen.lines()[-1], "? y/n")
    top.type("q")
    top.until("nothing was done")
    top.type("cy")
    top.until(f"job {running} is cancelled now")
    top.until(lambda lines: not any("slow.job" in line for line in lines))
    deed = box.job(running)["deeds"][-1]
    equal((deed["action"], deed["actor"]), ("cancel", "ann"))
    top.type("c")
    top.until("this list has no jobs")
    top.quit()


@test
def top_retries_what_was_given_up(box):
    _, retried, ended = fill(box)
    top = Top(box)
    top.type("\t\t")
    top.chosen("bad.job")
    top.type("r")
    top.until(f"job {ended} is available now")
    equal(box.state(ended), "available")
    top.chosen("flaky.job")
    top.type("r")  # it would be, in an hour
    top.until(f"job {retried} is available now")
    equal(box.state(retried), "available")
    equal([deed["action"] for deed in box.job(retried)["deeds"]], ["promote"])
    top.quit()


@test
def top_pauses_and_resumes_a_job(box):
    running, retried, ended = fill(box)
    top = Top(box)
    top.type("\t\t")
    for job_id, state in ((ended, "discarded"), (retried, "retryable")):
        top.chosen(job_id[-12:])
        top.type("p")
        top.until(f"job {job_id} is paused now")
        has(top.line("> " + job_id[-12:]), "paused")
        equal(box.state(job_id), "paused")
        top.type("p")
        top.until(f"job {job_id} is {state} now")
        equal(box.state(job_id), state)
        top.type("j")
    # A running job cannot be paused, and the store says so.
    top.type("\x1b[Z")
    top.chosen(running[-12:])
    top.type("p")
    has(top.line("cannot"), "active")
    top.quit()


@test
def top_reports_why_a_key_had_no_effect(box):
    box.submit("t")
    top = Top(box, "--busy-timeout", "100ms")
    top.until("default")
    with box.held():
        top.type("p")
        top.until(lambda lines: re.search("another process|locked|timeout", lines[-1]))
    equal(box.ok("queue", "list", "--json").json[0]["paused"], False)
    top.type("p")
    top.until('queue "default" is paused now')
    top.quit()


# ---- leaving ----

@test
def top_gives_the_terminal_back(box):
    box.submit("t")
    pair = pty.openpty()
    fresh = termios.tcgetattr(pair[1])
    for end in pair:
        os.close(end)
    for end in ("q", "\x03", signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        top = Top(box)
        first = top.until("default")
        has(first[0], "pawl top")
        held = hold(top)
        raw = termios.tcgetattr(held)
        equal(raw[3] & (termios.ICANON | termios.ECHO), 0)
        assert top.text.startswith(ENTER), top.text[:40]
        if isinstance(end, str):
            top.type(end)
        else:
            top.terminal.process.send_signal(end)
        top.terminal.process.wait(DEADLINE_S)
        equal(termios.tcgetattr(held), fresh)
        os.close(held)
        top.ended(0 if end == "q" else 130)


@test
def top_leaves_when_the_terminal_goes(box):
    box.submit("t")
    top = Top(box)
    top.until("default")
    os.close(top.master)
    equal(top.terminal.process.wait(DEADLINE_S), 130)


@test
def top_can_be_stopped_and_continued_by_the_shell(box):
    box.submit("t")
    script = f'set -m; "{PAWL}" top --interval 200ms; echo "stopped $?"; read x; fg; echo "end $?"'
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def adopt():
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    shell = subprocess.Popen(["bash", "-c", script], cwd=box.path, env=box.env, preexec_fn=adopt,
                             stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    text = ""

    def until(wanted):
        nonlocal text
        while wanted not in text:
            ready, _, _ = select.select([master], [], [], DEADLINE_S)
            assert ready, (wanted, text)
            text += os.read(master, 65536).decode()
        before, _, text = text.partition(wanted)
        return before

    try:
        until("q quit")
        os.write(master, b"\x1a")
        until(LEAVE)
        until("stopped 148")
        equal(termios.tcgetattr(master)[3] & termios.ECHO, termios.ECHO)
        os.write(master, b"\n")
        until(ENTER)
        until("q quit")
        equal(termios.tcgetattr(master)[3] & (termios.ECHO | termios.ICANON), 0)
        os.write(master, b"q")
        until(LEAVE)
        until("end 0")
        equal(shell.wait(DEADLINE_S), 0)
    finally:
        os.close(master)  # hangs up on whoever is left
        shell.kill()
        shell.wait(DEADLINE_S)


# ---- without a terminal ----

@test
def top_prints_once_without_a_terminal(box):
    running, retried, ended = fill(box)
    done = box.ok("top")
    equal(done.err, "")
    assert "\x1b" not in done.out, done
    for part in ("available 3  active 1  scheduled 2", "1 node: node-a", running, retried, ended,
                 "net.down: no route to host"):
        has(done.out, part)
    assert not re.search(r"\d/s\b", done.out) and "DONE" not in done.out, done.out  # no rates
    for terminal in (Terminal(box, "top", stdin=subprocess.DEVNULL),
                     Terminal(box, "top", env={"TERM": "dumb"})):
        equal(terminal.end(), 0)
        has(terminal.text, "net.down: no route to host")
        assert ENTER not in terminal.text, terminal.text


@test
def top_prints_one_object_for_programs(box):
    running, retried, ended = fill(box)
    name = box.store if POSTGRES else "sqlite:pawl.db"
    got = box.ok("top", "--json").json
    equal(set(got), {"store", "store_bytes", "at", "next_due_at", "states", "total", "archived",
                     "queues", "running", "failed", "nodes"})
    equal((got["store"], got["total"], got["states"]["available"]), (name, 8, 3))
    equal([(q["queue"], q["paused"], q["total"]) for q in got["queues"]],
          [("default", False, 2), ("fail", False, 2), ("mail", False, 3), ("run", False, 1)])
    started = got["running"][0].pop("started_at")
    equal(got["running"], [{"id": running, "type": "slow.job", "queue": "run", "state": "active",
                            "attempt": 1, "max_attempts": 3, "worker": "worker-1"}])
    assert started.endswith("Z"), started
    equal([(f["id"], f["state"], f["error"]) for f in got["failed"]],
          [(ended, "discarded", "auth.denied: wrong password"),
           (retried, "retryable", "net.down: no route to host")])
    assert got["failed"][0]["failed_at"] >= got["failed"][1]["failed_at"], got["failed"]
    equal([(n["name"], n["alive"], n["active"]) for n in got["nodes"]], [("node-a", True, 0)])
    # On a terminal too.
    terminal = Terminal(box, "top", "--json", columns=1000)
    equal(terminal.end(), 0)
    has(terminal.text, f'{{"store":"{name}"')


@test
def top_counts_attempts_that_were_charged(box):
    box.submit("slow.job", "--queue", "run")
    box.work("claim:run", "return:")
    box.work("claim:run")
    assert re.search(r"slow\.job +run +worker-1 +1/3 ", box.ok("top").out), box.ok("top").out
    job = box.ok("top", "--json").json["running"][0]
    equal((job["attempt"], job["free_runs"]), (2, 1))


@test
def top_prints_other_vocabularies(box):
    fill(box)
    got = box.ok("top", "--json", "--vocabulary", "ratchet").json
    equal(got["states"], {"PENDING": 6, "RUNNING": 1, "PAUSED": 0, "SUCCEEDED": 0, "CANCELED": 0,
                          "FAILED": 1})
    top = Top(box, "--vocabulary", "ratchet")
    has(top.first[1], "PENDING 6  RUNNING 1  FAILED 1")
    top.quit()


@test
def top_shows_an_empty_store(box):
    box.ok("migrate")
    top = Top(box)
    has(top.until("no nodes are alive")[1], "available 0  active 0")
    top.type("pcrj\tcrpk\tcrp ")
    top.until("this list has no jobs")
    top.quit()
    has(box.ok("top").out, "no nodes are alive")
    equal(box.ok("top", "--json").json["queues"], [])


@test
def top_refuses_what_it_cannot_do(box):
    box.fails(3, "top")
    box.submit("t")
    has(box.fails(2, "top", "--interval", "99ms").err, "at least 100 ms")
    has(box.fails(2, "top", "--interval", "0s").err, "--interval")
    has(box.fails(2, "top", "extra").err, "extra")
