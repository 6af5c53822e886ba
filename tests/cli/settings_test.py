"""Settings: command line, environment, file."""
from kit import equal, has, test


@test
def the_command_line_wins_over_environment_and_file(box):
    for name in ("flag", "env", "file", "pawl"):
        box.ok("submit", name, "--store", f"sqlite:{name}.db")
    config = box.file("pawl.conf", "store = sqlite:file.db\n")
    env = {"PAWL_STORE": "sqlite:env.db"}

    def store(*args, **more):
        return box.ok("list", "--json", *args, **more).json[0]["type"]

    equal(store(), "pawl")
    equal(store("--config", config), "file")
    equal(store(env={"PAWL_CONFIG": config}), "file")
    equal(store("--config", config, env=env), "env")
    equal(store("--config", config, "--store", "sqlite:flag.db", env=env), "flag")
    equal(store(env={"PAWL_STORE": ""}), "pawl")  # set to nothing means not set


@test
def settings_stand_before_or_after_the_command(box):
    box.ok("--store", "sqlite:x.db", "submit", "t")
    equal(box.ok("-ssqlite:x.db", "list", "--count").out, "1\n")
    equal(box.ok("list", "--count", "-s", "sqlite:x.db").out, "1\n")
    equal(box.ok("--json", "list", "--count", "--store=sqlite:x.db").json, {"count": 1})


@test
def a_file_may_have_comments_and_every_setting(box):
    config = box.file("c", "# about\n\n  durability=relaxed   # fine\nbusy-timeout = 5s\n"
                           "actor = a#b\njson = yes\nno-color = on\nquiet = off\n"
                           "vocabulary = ojs\nforce-network-fs = false\nstore = sqlite:c.db")
    job = box.ok("submit", "t", "--config", config).json
    box.ok("pause", job["id"], "--config", config)
    story = box.ok("show", job["id"], "--config", config).json
    equal((story["state"], story["deeds"][0]["actor"]), ("pending", "a#b"))  # as OJS calls it


@test
def a_wrong_file_is_an_error_with_its_line(box):
    cases = {
        "a\nb": "c:1: no \"=\" in \"a\"",
        "json = yes\n\nstroe = x": "c:3: there is no setting \"stroe\"",
        "busy-timeout = soon": "c:1: \"busy-timeout\" cannot be \"soon\"",
        "json = maybe": "c:1: \"json\" cannot be \"maybe\"",
        "durability = most": "c:1: \"durability\" cannot be \"most\"",
        "json = on\njson = on": "c:2: \"json\" is already set in line 1",
        "queue = x": "c:1: there is no setting \"queue\"",
        "config = y": "c:1: there is no setting \"config\"",
        "json = on\0": "c:1: not text",
    }
    for text, part in cases.items():
        box.file("c", text)
        has(box.fails(2, "list", "--config", "c").err, part)
    has(box.fails(2, "list", "--config", "none").err, 'could not read the configuration "none"')
    box.file("c", "stroe = x")
    has(box.fails(2, "list", "--config", "c").err, 'hint: did you mean "store"?')


@test
def a_wrong_variable_is_an_error_that_names_it(box):
    has(box.fails(2, "list", env={"PAWL_BUSY_TIMEOUT": "soon"}).err, "PAWL_BUSY_TIMEOUT")
    done = box.fails(2, "list", env={"PAWL_STROE": "sqlite:x"})
    has(done.err, '"PAWL_STROE" in the environment is not a setting')
    has(done.err, 'did you mean "PAWL_STORE"?')


@test
def variables_of_others_are_passed_over(box):
    box.submit("t")
    box.ok("list", env={"PAWL_PORT": "tcp://10.0.0.1:80", "PAWL_SERVICE_HOST": "10.0.0.1"})


@test
def help_needs_no_valid_settings(box):
    broken = {"PAWL_CONFIG": "/no/such/file", "PAWL_BUSY_TIMEOUT": "soon"}
    box.ok("help", env=broken)
    box.ok("list", "--help", env=broken)
    box.ok("version", env=broken)
