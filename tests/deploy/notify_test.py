#!/usr/bin/env python3
"""Servers and nodes notify the service manager when they are ready and when they stop. TAP.

Usage: notify_test.py PAWL
"""
import os
import signal
import socket
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "http"))
from server_kit import DEADLINE_S, ENV, PAWL, main, test

SERVE = ["serve", "--listen", "127.0.0.1:0"]
WORK = ["work", "--exec", "a.b=true"]


class Manager:
    """The socket that a service manager listens on, and a service that it starts."""

    def __init__(self, folder, args, abstract=False):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(DEADLINE_S)
        name = f"{'@' if abstract else ''}{folder}/notify"
        self.socket.bind(name.replace("@", "\0", 1) if abstract else name)
        self.service = subprocess.Popen(
            [PAWL, *args, "--store", f"sqlite:{folder}/pawl.db"], cwd=folder,
            env={**ENV, "NOTIFY_SOCKET": name}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.service.kill()
        self.service.wait()
        self.service.stdout.close()
        self.socket.close()

    def heard(self):
        return self.socket.recv(4096).decode()


def goes_through_its_life(args, abstract=False):
    with tempfile.TemporaryDirectory() as folder, Manager(folder, args, abstract) as manager:
        assert manager.heard() == "READY=1"
        manager.service.send_signal(signal.SIGTERM)
        assert manager.heard() == "STOPPING=1"
        assert manager.service.wait(DEADLINE_S) == 0


@test
def a_server_says_when_it_is_ready_and_when_it_stops():
    goes_through_its_life(SERVE)


@test
def a_node_says_when_it_is_ready_and_when_it_stops():
    goes_through_its_life(WORK)


@test
def a_socket_may_have_an_abstract_name():
    goes_through_its_life(SERVE, abstract=True)


@test
def a_manager_that_is_gone_is_no_trouble():
    with tempfile.TemporaryDirectory() as folder:
        for name in (f"{folder}/nobody", "@" + folder, "relative", "/" + "long" * 100):
            with subprocess.Popen([PAWL, *SERVE, "--store", f"sqlite:{folder}/pawl.db"],
                                  env={**ENV, "NOTIFY_SOCKET": name}, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True) as service:
                assert service.stdout.readline().startswith("serving "), name
                service.send_signal(signal.SIGTERM)
                assert service.wait(DEADLINE_S) == 0, name


if __name__ == "__main__":
    main()
