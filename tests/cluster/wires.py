"""Ways from a node to the server that can be cut and healed.

A namespace has a network of its own, and a cut makes packets vanish: nobody is told. A proxy closes
what is open and lets nobody in: both ends are told at once.
"""
import os
import select
import socket
import subprocess
import threading


class Namespace:
    """A network namespace joined to this one by a pair of interfaces."""

    def __init__(self):
        number = os.getpid() % (64 * 256 * 64)  # no two processes have the same address
        net = f"10.{128 + number // 16384}.{number // 64 % 256}"
        host = number % 64 * 4
        self.name, self.outer = f"pawl-{os.getpid()}", f"pawl{os.getpid()}"
        self.here, self.there = f"{net}.{host + 1}", f"{net}.{host + 2}"
        self.prefix = ["ip", "netns", "exec", self.name]
        try:
            self._ip("netns", "add", self.name)
            self._ip("link", "add", self.outer, "type", "veth", "peer", "name", "eth0", "netns",
                     self.name)
            self._ip("address", "add", self.here + "/30", "dev", self.outer)
            self._ip("link", "set", self.outer, "up")
            self._ip("-n", self.name, "address", "add", self.there + "/30", "dev", "eth0")
            self._ip("-n", self.name, "link", "set", "eth0", "up")
        except OSError:
            self.close()
            raise

    @staticmethod
    def _ip(*args):
        done = subprocess.run(["ip", *args], capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"ip {' '.join(args)}: {done.stderr.strip()}")

    def where(self):
        return f"host={self.here}&user=pawl"

    def cut(self):
        self._ip("link", "set", self.outer, "down")

    def heal(self):
        self._ip("link", "set", self.outer, "up")

    def close(self):
        """The interfaces go with the namespace."""
        subprocess.run(["ip", "netns", "delete", self.name], capture_output=True, check=False)


class Proxy:
    """Listens on a Unix socket in a directory of its own, and passes on what either side says."""

    prefix = ()

    def __init__(self, place, server_dir):
        self.dir, self.server = os.path.join(place, "proxy"), server_dir + "/.s.PGSQL.5432"
        os.mkdir(self.dir)
        self.shut, self.ended = False, False
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.dir + "/.s.PGSQL.5432")
        self.listener.listen(64)
        self.wake_here, self.wake_there = socket.socketpair()
        self.peers = {}
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def where(self):
        return f"host={self.dir}&user=pawl"

    def cut(self):
        self._tell(shut=True)

    def heal(self):
        self._tell(shut=False)

    def close(self):
        self._tell(shut=True)
        self.ended = True
        self.wake_here.close()
        self.thread.join()
        self.listener.close()
        self.wake_there.close()

    def _tell(self, shut):
        """Returns when it is so."""
        self.wake_here.sendall(b"s" if shut else b"o")
        self.wake_here.recv(1)

    def _run(self):
        while not self.ended:
            ready, _, _ = select.select([self.wake_there, self.listener, *self.peers], [], [])
            for one in ready:
                if one is self.wake_there:
                    self._obey(one.recv(1))
                elif one is self.listener:
                    self._accept()
                elif one in self.peers:
                    self._pass_on(one)

    def _obey(self, what):
        self.shut = what == b"s"
        while self.shut and self.peers:
            self._hang_up(next(iter(self.peers)))
        if what:
            self.wake_there.sendall(b".")

    def _accept(self):
        client, _ = self.listener.accept()
        server = socket.socket(socket.AF_UNIX)
        try:
            if self.shut:
                raise ConnectionRefusedError
            server.connect(self.server)
        except OSError:
            client.close()
            server.close()
            return
        self.peers[client], self.peers[server] = server, client

    def _pass_on(self, one):
        try:
            said = one.recv(65536)
            if said:
                self.peers[one].sendall(said)
                return
        except OSError:
            pass
        self._hang_up(one)

    def _hang_up(self, one):
        other = self.peers.pop(one)
        del self.peers[other]
        one.close()
        other.close()
