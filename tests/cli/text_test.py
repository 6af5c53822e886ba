"""Help, man page, completion, reference page, and errors about the command line."""
import os
import re
import shutil
import signal
import subprocess

from kit import DEADLINE_S, PAWL, ROOT, Skip, equal, has, test


def commands(box):
    text = box.ok("help").out
    part = text[text.index("\nCommands\n"):text.index("\nSettings\n")]
    return [re.split(r"  +", line.strip())[0] for line in part.splitlines()[2:] if line.strip()]


@test
def a_wrong_command_gets_a_suggestion(box):
    equal(box.fails(2, "sumbit").err, 'pawl: there is no command "sumbit"\n'
                                      'hint: did you mean "pawl submit"?\n')
    equal(box.fails(2, "queue", "puase").err, 'pawl: there is no command "queue puase"\n'
                                              'hint: did you mean "pawl queue pause"?\n')
    has(box.fails(2, "xyzzy").err, '"pawl help" lists the commands')
    has(box.fails(2, "help", "lsit").err, 'did you mean "pawl list"?')


@test
def a_wrong_option_gets_a_suggestion(box):
    equal(box.fails(2, "list", "--staet", "x").err, 'pawl: "pawl list" has no option "--staet"\n'
                                                    'hint: did you mean "--state"?\n')
    has(box.fails(2, "list", "--delay", "1s").err, 'has no option "--delay"')
    has(box.fails(2, "list", "-Z").err, 'has no option "-Z"')
    has(box.fails(2, "--nonsense", "list").err, '"pawl" has no option "--nonsense"')
    has(box.fails(2, "list", "--state").err, '"--state" needs a value')
    has(box.fails(2, "list", "--json=maybe").err, '"--json" cannot be "maybe"')
    has(box.fails(2, "submit", "t", "--retry-backoff", "expontial").err, '"exponential"')
    has(box.fails(2, "list", "--state", "retriable").err, 'did you mean "retryable"?')
    has(box.fails(2, "list", "extra").err, 'unexpected argument "extra"')


@test
def wrong_values_are_explained(box):
    for args in (("submit", "t", "--priority", "101"), ("submit", "t", "--max-attempts", "0"),
                 ("submit", "t", "--retry-factor", "0.5"), ("submit", "t", "--timeout", "0s"),
                 ("submit", "t", "--at", "noon"), ("submit", "t", "--id", "7"),
                 ("submit", "t", "--meta", "novalue"), ("submit", "t", "--unique", "type,size"),
                 ("list", "--limit", "0"), ("list", "--priority", "9..1"),
                 ("list", "--created-after", "x"), ("lock", "try", "l", "--ttl", "-1s"),
                 ("upkeep", "--purge-after", "always"), ("list", "--queue", "")):
        has(box.fails(2, *args).err, "hint: ")


@test
def hints_say_what_an_option_takes(box):
    cases = {
        ("submit", "t", "--unique", "foo"): "any of type, queue, args, meta",
        ("submit", "t", "--on-conflict", "foo"): "reject, replace, replace_except_schedule or",
        ("submit", "t", "--retry-backoff", "foo"): "exponential, linear, polynomial, constant or",
        ("list", "--durability", "maybe"): "full or relaxed\n",
        ("submit", "t", "--expires", "foo"):
            "an instant (2030-01-31T08:00:00Z, 2030-01-31 09:00) or a duration after it is due",
        ("submit", "t", "--at", "2030-01-31T8h"): "an instant: 2030-01-31T08:00:00Z",
        ("submit", "t", "--max-attempts", "99999999999"): "a whole number from 1 to 2147483647",
        ("submit", "t", "--delay", "100000d"): "a duration of at most 36525d",
        ("submit", "t", "--id", "123"): "a UUID: 0",
    }
    for args, part in cases.items():
        has(box.fails(2, *args).err, "hint: it takes " + part)


@test
def no_command_is_a_usage_error_that_helps(box):
    done = box.run()
    equal((done.code, done.out), (2, ""))
    has(done.err, "Usage: pawl")
    equal(box.ok("--help").out, done.err)


@test
def every_command_explains_itself(box):
    words = commands(box)
    for wanted in ("submit", "show", "list", "cancel", "pause", "resume", "retry", "discard",
                   "priority", "stats", "dead list", "node list", "lock try", "migrate", "backup",
                   "check"):
        assert wanted in words, (wanted, words)
    for word in words:
        text = box.ok(*word.split(), "--help").out
        has(text, "Usage: pawl " + word.split()[0])
        equal(box.ok("help", *word.split()[:1]).code, 0)
    for line in box.ok("help").out.splitlines():
        assert len(line) <= 80, line
    text = box.ok("dead", "--help").out  # what its three have in common is said once
    equal((text.count("--queue QUEUE"), text.count("--reason TEXT")), (1, 1))
    for part in ("pawl dead [list] ", "pawl dead retry ", "pawl dead delete ", "The listing (list)",
                 "Bulk changes (retry, delete)", "pawl dead retry --all-matching"):
        has(text, part)
    has(box.ok("dead", "retry", "--help").out, "Bulk changes\n")


@test
def help_has_the_exit_codes(box):
    text = box.ok("help").out
    for code in ("0 ", "1 ", "2 ", "3 ", "130 "):
        assert re.search(rf"^  {code}", text, re.MULTILINE), (code, text)


@test
def the_version_is_printed(box):
    version = box.ok("version").out
    assert re.fullmatch(r"pawl \d+\.\d+\.\d+\n", version), version
    equal(box.ok("--version").out, version)
    equal("pawl " + box.ok("version", "--json").json["version"] + "\n", version)


@test
def the_man_page_renders_without_warnings(box):
    if not shutil.which("man"):
        raise Skip("no man")
    page = box.file("pawl.1", box.ok("__man").out)
    done = subprocess.run(["man", "-l", "--warnings", page], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=True,
                          env={**box.env, "MANWIDTH": "100", "MAN_KEEP_FORMATTING": ""})
    equal(done.stderr, "")
    for word in commands(box):
        has(done.stdout, "pawl " + word.split()[0])
    for part in ("--busy-timeout", "PAWL_STORE", "EXIT STATUS", "--unique-period"):
        has(done.stdout, part)


def completer(box):
    """A function that completes the last of the words that it is given, as bash does."""
    script = box.file("pawl.bash", box.ok("__complete", "bash").out)
    ask = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pawl; '
           'printf "%s\\n" "${COMPREPLY[@]}"')

    def complete(*words):
        done = subprocess.run(["bash", "-c", ask, "bash", script, PAWL, *words], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=box.env, cwd=box.path)
        equal(done.stderr, "")
        return done.stdout.split()

    return complete


@test
def bash_completes_words_options_and_values(box):
    complete = completer(box)

    equal(complete("su"), ["submit"])
    equal(complete("re"), ["resume", "retry", "rerun"])
    equal(complete("prom"), ["promote"])
    equal(complete("queue", ""), ["list", "pause", "resume", "delete"])
    equal(complete("--store", "x", "queue", "p"), ["pause"])
    equal(complete("list", "--stat"), ["--state"])
    equal(complete("list", "--state", "ret"), ["retryable"])
    equal(complete("list", "--state", "retryable,comp"), ["retryable,completed"])
    equal(complete("--durability", ""), ["full", "relaxed"])
    equal(complete("submit", "--on-conflict", "replace_"), ["replace_except_schedule"])
    equal(complete("dead", "retry", "--all-m"), ["--all-matching"])
    equal(complete("stats", "--all-m"), [])
    equal(complete("lock", "try", "--tt"), ["--ttl"])
    equal(complete("help", "que"), ["queue"])
    equal(complete("submit", "--tag", ""), [])
    box.file("some.file", "")
    equal(complete("backup", "some"), ["some.file"])


@test
def bash_completes_names_from_the_store(box):
    complete = completer(box)
    for words in (("show", ""), ("queue", "pause", ""), ("list", "--type", "")):
        equal(complete(*words), [])  # no store, no complaint
    assert not os.path.exists(box.file("pawl.db"))
    first = box.submit("mail.send", "--queue", "mail")
    second = box.submit("report.build")
    box.submit("report.build", "--queue", "mail-bulk")
    equal(complete("queue", "pause", "ma"), ["mail", "mail-bulk"])
    equal(complete("queue", "resume", "mail", "d"), ["default"])
    for command in ("submit", "list", "top", "work"):
        equal(complete(command, "--queue", "mail-"), ["mail-bulk"])
    equal(sorted(complete("list", "--type", "")), ["mail.send", "report.build"])
    equal(complete("submit", "re"), ["report.build"])
    equal(complete("submit", "report.build", ""), [])  # the arguments
    equal(complete("show", first), [first])
    equal(complete("dead", "retry", second), [second])
    equal(len(complete("cancel", first, "")), 3)
    equal(complete("token", "revoke", ""), [])
    equal(complete("list", "--state", "comp"), ["completed"])


@test
def completion_asks_the_store_of_the_command_line(box):
    complete = completer(box)
    box.ok("submit", "t", "--queue", "elsewhere", "--store", "sqlite:other.db")
    # As bash passes it on: it takes words apart at colons and equals signs.
    store = ("sqlite", ":", "other.db")
    equal(complete("--store", *store, "queue", "pause", ""), ["elsewhere"])
    equal(complete("list", "-s", *store, "--queue", ""), ["elsewhere"])
    equal(complete("list", "--store", "=", *store, "--queue", "else"), ["elsewhere"])
    equal(complete("list", "--queue", ""), [])
    equal(complete("list", "--store", "sqlite", ":", "none.db", "--queue", ""), [])
    assert not os.path.exists(box.file("none.db"))


@test
def completion_offers_the_newest_jobs_alone(box):
    lines = "".join('{"type":"t%d"}\n' % (number % 7) for number in range(120))
    box.ok("submit", "-", stdin=lines)
    ids = box.ok("__known", "ids").out.split()
    newest = [job["id"] for job in box.ok("list", "--limit", "100", "--json").json]
    equal(ids, newest)
    equal(sorted(box.ok("__known", "types").out.split()), [f"t{number}" for number in range(7)])
    has(box.fails(2, "__known", "moods").err, "ids, queues, types and schedules")


@test
def other_shells_take_their_scripts(box):
    box.fails(2, "__complete", "tcsh")
    ran = False
    for shell, check in (("zsh", ["zsh", "-fn"]), ("fish", ["fish", "--no-execute"])):
        script = box.file("pawl." + shell, box.ok("__complete", shell).out)
        if shutil.which(shell):
            subprocess.run([*check, script], check=True, env={**box.env, "HOME": box.path})
            ran = True
    if not ran:
        raise Skip("neither zsh nor fish")


@test
def the_reference_page_is_what_the_program_prints(box):
    with open(os.path.join(ROOT, "docs", "cli.md"), encoding="utf-8") as page:
        wanted = page.read()
    got = box.ok("__doc").out
    assert got == wanted, "docs/cli.md is out of date: make docs, or pawl __doc >docs/cli.md"


@test
def hidden_commands_stay_hidden(box):
    for text in (box.ok("help").out, box.ok("__man").out, box.ok("__complete", "bash").out):
        assert "__complete" not in text.replace('"pawl __complete bash"', ""), text
        assert " __known" not in text.replace('" __known "$1" 2>/dev/null', ""), text


def demonstrate(box, **options):
    return subprocess.Popen([os.path.join(ROOT, "mk", "demo.sh"), PAWL], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, cwd=box.path,
                            env={**box.env, "TMPDIR": box.path}, **options)


def processes_in(path):
    """Whoever has its working directory there."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{name}/cwd").startswith(path + "/"):
                found.append(name)
        except OSError:
            pass
    return found


@test
def the_demonstration_runs_and_leaves_nothing(box):
    process = demonstrate(box)
    out, _ = process.communicate(timeout=DEADLINE_S)
    equal((process.returncode, out[-600:]), (0, out[-600:]))
    for part in ('$ curl -s $jobs --json', "added 100 jobs", "no damage found",
                 "attempt 3 started", "is down: 112 done, 4 failed, 0 given back"):
        has(out, part)
    for row in (r"completed +default +sysinfo", r"completed +default +invoice.fetch +0 +3/3",
                r"discarded +default +invoice.pay +0 +2/2", r"cancelled +default +video.encode",
                r"completed +mail +mail.send +50 +1/3"):
        assert re.search(row, out), (row, out)
    assert out.index('to ["urgent@') < out.index('to ["ann@') < out.index('to ["bob@'), out
    equal((os.listdir(box.path), processes_in(box.path)), ([], []))


@test
def the_demonstration_can_be_interrupted(box):
    process = demonstrate(box, start_new_session=True)
    for line in process.stdout:
        if "curl" in line and "video.encode" in line:
            break
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=DEADLINE_S)
    equal(process.returncode, 130)
    equal((os.listdir(box.path), processes_in(box.path)), ([], []))
