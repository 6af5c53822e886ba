#!/usr/bin/env python3
"""The files in deploy/ fit each other and the binary. Prints TAP.

Usage: deploy_test.py PAWL

No cluster is needed: units, manifests and the compose file are read, every command line in them is
given to PAWL to parse, and what they probe is looked for among the paths that PAWL serves.
"""
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))
from server_kit import DEADLINE_S, ENV, PAWL, ROOT, Server, Skip, main, test

try:
    import yaml
except ImportError:  # a Python that is not Debian's can use what Debian installed
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        import yaml
    except ImportError:
        yaml = None

UNITS = ["pawl-serve.service", "pawl-work@.service"]
MANIFESTS = ["pawl.yaml", "token.yaml", "work.yaml"]
WORKLOADS = {"StatefulSet", "Job"}
SLACK_S = 5  # to end in, after the last deadline of the command's own


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


# ---- the files ----


def documents(text):
    if not yaml:
        raise Skip("YAML cannot be read here (on Debian: python3-yaml)")
    return list(yaml.safe_load_all(text))


def unit(name):
    """(section, key) -> values."""
    found, section = {}, None
    for line in read(f"deploy/systemd/{name}").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            key, value = line.split("=", 1)
            found.setdefault((section, key), []).append(value)
    return found


def objects(name=None):
    """Those of one manifest, or of all."""
    return [thing for file in ([name] if name else MANIFESTS)
            for thing in documents(read(f"deploy/kubernetes/{file}"))]


def kind(*kinds):
    return [thing for thing in objects() if thing["kind"] in kinds]


def pod(workload):
    return workload["spec"]["template"]["spec"]


def containers(workload):
    return pod(workload).get("initContainers", []) + pod(workload)["containers"]


def compose():
    [one] = documents(read("deploy/compose/compose.yaml"))
    return one


def ours():
    """The services that run pawl."""
    return {name: service for name, service in compose()["services"].items()
            if name != "postgres"}


def container_lines():
    """(instruction, rest) of the container file."""
    lines = read("deploy/Containerfile").replace("\\\n", " ").splitlines()
    return [tuple(line.split(" ", 1)) for line in lines if line and not line.startswith("#")]


def unit_command(name):
    [line] = unit(name)[("Service", "ExecStart")]
    program, *args = shlex.split(line.replace("%i", "mail.send"))
    assert program == "/usr/local/bin/pawl", f"{name}: {program}"
    assert re.fullmatch(r"\$(SERVE|WORK)_OPTIONS", args[-1]), f"{name}: {args[-1]}"
    return args[:-1]


def readme_commands():
    """Every `pawl ...` that is typed, also after sudo or in a container; not the image's name."""
    found = []
    for block in re.findall(r"^```sh\n(.*?)^```", read("deploy/README.md"), re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            for index, word in enumerate(words):
                if word == "pawl" and (index == 0 or words[0] == "sudo" or "exec" in words):
                    found.append(words[index + 1:])
    return found


def commands():
    """Every command line of pawl: (where it stands, arguments)."""
    found = [(name, unit_command(name)) for name in UNITS]
    for workload in kind(*WORKLOADS):
        for container in containers(workload):
            found.append((f"{workload['metadata']['name']}/{container['name']}",
                          container["args"]))
    found += [(f"compose: {name}", [word.replace("$$", "$") for word in service["command"]])
              for name, service in ours().items()]
    found += [("Containerfile", json.loads(rest)) for instruction, rest in container_lines()
              if instruction == "CMD"]
    return found


# ---- reading command lines ----


def run(*args, **options):
    return subprocess.run(args, capture_output=True, text=True, check=False, timeout=DEADLINE_S,
                          stdin=subprocess.DEVNULL, env=ENV, **options)


def seconds(text):
    number, unit_name = re.fullmatch(r"(\d+)(ms|s|m|h)", text).groups()
    return int(number) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[unit_name]


def option(args, name):
    """Its value on the command line, else the default that the binary names."""
    if f"--{name}" in args:
        return args[args.index(f"--{name}") + 1]
    text = " ".join(run(PAWL, args[0], "--help").stdout.split())
    found = re.search(rf"--{name} [A-Z].*?\[([^\]]+)\]", text)
    assert found, f"pawl {args[0]} has no --{name} with a default"
    return found.group(1)


def stop_seconds(args):
    """How long it may take from the signal to its end, by its own options."""
    return seconds(option(args, "drain")) + seconds(
        option(args, "grace" if args[0] == "work" else "unready"))


def long_running(found):
    return [(where, args) for where, args in found if args[0] in ("serve", "work")]


# ---- the tests ----


@test
def every_command_line_is_one_that_the_binary_takes():
    found = commands()
    assert len(found) >= 12, found
    for where, args in found:
        # parsed before it is explained: a wrong option or value is a complaint
        done = run(PAWL, *args, "--help")
        assert done.returncode == 0, f"{where}: pawl {shlex.join(args)}\n{done.stderr}"
    told = run(PAWL, "serve", "--no-such-option", "--help")
    assert told.returncode == 2, "the binary takes anything"


@test
def commands_of_the_readme_are_ones_that_the_binary_takes():
    found = readme_commands()
    assert len(found) >= 4, found
    for args in found:
        done = run(PAWL, *args, "--help")
        assert done.returncode == 0, f"pawl {shlex.join(args)}\n{done.stderr}"


@test
def every_variable_is_a_setting():
    known = set(re.findall(r"`(PAWL_[A-Z_]+)`", run(PAWL, "__doc").stdout))
    assert "PAWL_STORE" in known, known
    known.add("PAWL_IMAGE")  # compose's own
    seen = set()
    for path in glob.glob(f"{ROOT}/deploy/**", recursive=True):
        if os.path.isfile(path):
            seen |= set(re.findall(r"\bPAWL_[A-Z_]+\b", read(path)))
    assert {"PAWL_STORE", "PAWL_CONFIG"} <= seen <= known, sorted(seen - known)


@test
def no_secret_is_on_a_command_line():
    for where, args in commands():
        assert not any(arg.startswith(("--store", "--token", "postgres")) for arg in args), where


@test
def units_are_valid():
    analyze = shutil.which("systemd-analyze")
    if not analyze:
        raise Skip("units cannot be looked at here (on Debian: systemd)")
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name in UNITS:
            path = os.path.join(folder, name.replace("@", "@mail.send"))
            with open(path, "w", encoding="utf-8") as file:
                file.write(read(f"deploy/systemd/{name}").replace("/usr/local/bin/pawl", PAWL))
            paths.append(path)
        done = run(analyze, "verify", "--man=no", "--recursive-errors=no", *paths)
        said = [line for line in done.stderr.splitlines() if "pawl" in line]
        assert not said, "\n".join(said)
        with open(paths[0], "a", encoding="utf-8") as file:
            file.write("[Service]\nNoSuchDirective=yes\n")
        done = run(analyze, "verify", "--man=no", "--recursive-errors=no", paths[0])
        assert "NoSuchDirective" in done.stderr, "it finds nothing wrong with anything"


@test
def units_keep_the_service_in():
    wanted = {"Type": "notify", "DynamicUser": "yes", "NoNewPrivileges": "yes",
              "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes",
              "PrivateDevices": "yes", "KillMode": "mixed", "CapabilityBoundingSet": ""}
    for name in UNITS:
        for key, value in wanted.items():
            assert unit(name).get(("Service", key)) == [value], f"{name}: {key}"


@test
def a_database_that_is_away_is_waited_for():
    for name in UNITS:
        assert unit(name).get(("Unit", "StartLimitIntervalSec")) == ["0"], f"{name} gives up"
        assert unit(name).get(("Service", "Restart")) == ["on-failure"], name
    for name, service in ours().items():
        if long_running([(name, service["command"])]):
            assert service["restart"] == "unless-stopped", name


@test
def whoever_stops_them_waits_longer_than_they_take():
    for name in UNITS:
        [given] = unit(name)[("Service", "TimeoutStopSec")]
        assert seconds(given) >= stop_seconds(unit_command(name)) + SLACK_S, name
    for workload in kind("StatefulSet"):
        [main_one] = pod(workload)["containers"]
        given = pod(workload)["terminationGracePeriodSeconds"]
        assert given >= stop_seconds(main_one["args"]) + SLACK_S, main_one["name"]
    for name, service in ours().items():
        if long_running([(name, service["command"])]):
            given = seconds(service["stop_grace_period"])
            assert given >= stop_seconds(service["command"]) + SLACK_S, name


@test
def selectors_match_labels():
    labels = {thing["metadata"]["name"]: thing["spec"]["template"]["metadata"]["labels"]
              for thing in kind("StatefulSet")}
    for thing in kind("StatefulSet", "PodDisruptionBudget"):
        wanted = thing["spec"]["selector"]["matchLabels"]
        chosen = [name for name, has in labels.items() if wanted.items() <= has.items()]
        assert chosen == [thing["metadata"]["name"]], (thing["kind"], wanted, chosen)
    for thing in kind("Service"):
        wanted = thing["spec"]["selector"]
        assert any(wanted.items() <= has.items() for has in labels.values()), wanted
    for thing in kind("StatefulSet"):
        assert thing["spec"]["serviceName"] in [
            service["metadata"]["name"] for service in kind("Service")
            if service["spec"].get("clusterIP") == "None"], "no headless service"


@test
def a_disruption_leaves_some_and_takes_some():
    replicas = {thing["metadata"]["name"]: thing["spec"]["replicas"]
                for thing in kind("StatefulSet")}
    for budget in kind("PodDisruptionBudget"):
        there = replicas[budget["metadata"]["name"]]
        assert 1 <= budget["spec"]["minAvailable"] < there, budget


def probes(container):
    return [container[name]["httpGet"] for name in ("startupProbe", "livenessProbe",
                                                    "readinessProbe") if name in container]


@test
def ports_are_those_that_it_listens_on():
    [server] = [thing for thing in kind("StatefulSet")
                if pod(thing)["containers"][0]["args"][0] == "serve"]
    [container] = pod(server)["containers"]
    [named] = container["ports"]
    listening = int(option(container["args"], "listen").rsplit(":", 1)[1])
    assert named["containerPort"] == listening, named
    assert len(probes(container)) == 3 and all(p["port"] == named["name"]
                                               for p in probes(container))
    for service in kind("Service"):
        for port in service["spec"].get("ports", []):
            assert port["targetPort"] == named["name"], service["metadata"]["name"]
    exposed = [int(rest) for instruction, rest in container_lines() if instruction == "EXPOSE"]
    [default] = [json.loads(rest) for word, rest in container_lines() if word == "CMD"]
    assert exposed == [int(option(default, "listen").rsplit(":", 1)[1])], exposed
    published = []
    for name, service in ours().items():
        for port in service.get("ports", []):
            _, outside, inside = port.split(":")
            assert int(inside) == int(option(service["command"], "listen").rsplit(":", 1)[1]), name
            published.append(outside)
    assert len(set(published)) == len(published) == 3, published


@test
def probes_ask_for_paths_that_are_served():
    asked = {probe["path"] for thing in kind("StatefulSet")
             for container in containers(thing) for probe in probes(container)}
    checks = [" ".join(service["healthcheck"]["test"]) for service in ours().values()
              if "healthcheck" in service]
    assert len(checks) == 3, checks
    asked |= {re.search(r"GET (\S+) ", check).group(1) for check in checks}
    assert len(asked) >= 2, asked
    with Server() as server:
        served = server.get("/openapi.json")["paths"]
        for path in asked:
            assert "get" in served.get(path, {}), f"{path} is not served"
            assert server.ask("GET", path).status == 200, path


@test
def the_check_of_the_compose_file_tells_ready_from_not():
    check = ours()["node-1"]["healthcheck"]["test"]
    assert check[0] == "CMD", check
    with Server() as server:
        def asks(port):
            command = [word.replace("/8080", f"/{port}") for word in check[1:]]
            return run(*command).returncode
        port = server.address.rsplit(":", 1)[1]
        assert asks(port) == 0, "a server that is ready is not found so"
    assert asks(port) != 0, "a server that is gone is found ready"


@test
def secrets_are_the_same_everywhere():
    used = set()
    for workload in kind(*WORKLOADS):
        for container in containers(workload):
            variables = {entry["name"]: entry for entry in container["env"]}
            reference = variables["PAWL_STORE"]["valueFrom"]["secretKeyRef"]
            used.add((reference["name"], reference["key"]))
    assert len(used) == 1, used
    [(name, key)] = used
    assert f"create secret generic {name} --from-file={key}=" in read("deploy/README.md")


@test
def nodes_are_named_after_their_pods():
    for workload in kind("StatefulSet"):
        for container in pod(workload)["containers"]:
            variables = {entry["name"]: entry for entry in container["env"]}
            field = variables["HOSTNAME"]["valueFrom"]["fieldRef"]["fieldPath"]
            assert field == "metadata.name", container["name"]
    names = [service["hostname"] for service in ours().values() if "hostname" in service]
    assert len(set(names)) == len(names) == 3, names


@test
def containers_have_no_rights():
    for workload in kind(*WORKLOADS):
        context = pod(workload)["securityContext"]
        user = dict(container_lines())["USER"].split(":")[0]
        assert context["runAsNonRoot"] is True and str(context["runAsUser"]) == user != "0"
        for container in containers(workload):
            own = container["securityContext"]
            assert own["allowPrivilegeEscalation"] is False and own["readOnlyRootFilesystem"]
            assert own["capabilities"]["drop"] == ["ALL"], container["name"]


@test
def kubernetes_is_told_only_what_it_knows():
    """The fields that are easily misplaced, since an unknown one may be dropped in silence."""
    known = {
        "StatefulSet": {"serviceName", "replicas", "podManagementPolicy", "selector", "template"},
        "Service": {"clusterIP", "selector", "ports"},
        "PodDisruptionBudget": {"minAvailable", "selector"},
        "Job": {"backoffLimit", "template"},
    }
    versions = {"StatefulSet": "apps/v1", "Service": "v1", "PodDisruptionBudget": "policy/v1",
                "Job": "batch/v1"}
    of_pods = {"automountServiceAccountToken", "enableServiceLinks", "restartPolicy",
               "terminationGracePeriodSeconds", "securityContext", "topologySpreadConstraints",
               "initContainers", "containers", "volumes"}
    of_containers = {"name", "image", "args", "env", "ports", "securityContext", "resources",
                     "startupProbe", "livenessProbe", "readinessProbe",
                     "volumeMounts"}
    for thing in objects():
        assert thing["apiVersion"] == versions[thing["kind"]], thing["kind"]
        assert set(thing["spec"]) <= known[thing["kind"]], set(thing["spec"])
        if thing["kind"] in WORKLOADS:
            assert set(pod(thing)) <= of_pods, set(pod(thing)) - of_pods
            for container in containers(thing):
                assert set(container) <= of_containers, set(container) - of_containers


# ---- packages ----


def needs(purpose):
    """Signs of what a purpose needs."""
    table = re.search(r"<<'END'\n(.*?)\nEND\n", read("mk/setup.sh"), re.S).group(1)
    return {row.split()[1] for row in table.splitlines() if purpose in row.split()[0].split(",")}


def packages_of_image():
    """What mk/setup.sh asks apt for where none of it is installed."""
    if not shutil.which("apt-cache") or "Candidate" not in run("apt-cache", "policy",
                                                               "libsqlite3-dev").stdout:
        raise Skip("no lists of packages to ask (apt-get update)")
    with tempfile.TemporaryDirectory() as bare:
        asked = os.path.join(bare, "asked")
        for name, body in {"apt-get": f'echo "$*" >>{asked}', "sudo": 'shift; "$@"',
                           "ldconfig": "", "dpkg-query": "exit 1"}.items():
            with open(os.path.join(bare, name), "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{body}\n")
            os.chmod(file.name, 0o755)
        run("env", f"PATH={bare}:{os.environ['PATH']}", "sh", os.path.join(ROOT, "mk/setup.sh"),
            "image")
        with open(asked, encoding="utf-8") as file:
            return set(file.read().split())


@test
def the_container_file_installs_by_the_list():
    runs = [rest for instruction, rest in container_lines() if instruction == "RUN"]
    purposes = [word for rest in runs for word in re.findall(r"setup\.sh ([a-z]+)", rest)]
    assert purposes == ["build", "image"], purposes
    assert not any("apt" in rest.split("&&")[0] for rest in runs), "a package beside the list"
    bases = {rest.split()[0] for instruction, rest in container_lines() if instruction == "FROM"}
    assert bases == {"debian:${DEBIAN}-slim"}, bases
    entry = json.loads(dict(container_lines())["ENTRYPOINT"])
    assert entry[0] in needs("image") and entry[-1] == "pawl", entry
    assert "make" in needs("build"), "a bare Debian has no make"


@test
def the_image_has_every_library_that_the_binary_loads():
    modules = glob.glob(os.path.join(os.path.dirname(PAWL), "src/store/pawl-*.so"))
    wanted = set()
    for path in [PAWL, *modules]:
        wanted |= set(re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", path).stdout))
    base = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libgcc_s.so.1"}
    assert "libsqlite3.so.0" in wanted, wanted
    named = {library: f"so:{library.split('.so')[0]}" for library in wanted - base}
    assert set(named.values()) <= needs("image"), set(named.values()) - needs("image")
    installed = packages_of_image()
    for library in sorted(named):
        owners = {line.split(":")[0] for line in run("dpkg", "-S", library).stdout.splitlines()
                  if line.endswith("/" + library)}
        assert owners & installed, f"{library} is in {owners}, the image has {installed}"


if __name__ == "__main__":
    main()
