"""A private PostgreSQL server in a temporary directory, for as long as a test needs it."""
import ctypes
import functools
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CONFIG = """
listen_addresses = ''
unix_socket_directories = '{dir}'
max_connections = 100
shared_buffers = 64MB
fsync = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
max_parallel_workers_per_gather = 0
jit = off
log_min_messages = warning
log_min_error_statement = panic
"""


def end_with_parent():
    """Between fork and exec: whoever is killed takes his server along."""
    ctypes.CDLL(None).prctl(1, signal.SIGINT)  # PR_SET_PDEATHSIG


@functools.lru_cache
def find_tool(name):
    """None: it is not here."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../mk/find_tool.sh")
    return subprocess.run([script, name], stdout=subprocess.PIPE, text=True,
                          check=False).stdout.strip() or None


def find_binaries():
    """The directory of initdb and postgres, the newest that there is; None: no server here."""
    postgres = find_tool("postgres")
    return os.path.dirname(postgres) if postgres else None


def scratch():
    """Where a server's files go that nobody keeps: in memory, if there is enough of it. Stores are
    thousands of small files, which a disk takes its time to make and to remove."""
    try:
        room = os.statvfs("/dev/shm")
        if os.access("/dev/shm", os.W_OK | os.X_OK) and room.f_bavail * room.f_frsize > 4 << 30:
            return "/dev/shm"
    except OSError:
        pass
    return "/tmp"


class Server:
    """`url` leads to it. It runs as an ordinary user: the server refuses to be root."""

    def __init__(self, config="", where=None):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that close is called
        self.bin = find_binaries()
        self.dir = tempfile.mkdtemp(prefix="pawl-pg-", dir=where or scratch())
        self.data = self.dir + "/data"
        self.url = f"postgres:///postgres?host={self.dir}&user=pawl"
        self.process = None
        self.user = self.run_as()
        try:
            self._make(config)
            self.start()
        except BaseException:
            self.close()
            raise

    def _make(self, config):
        if self.user:
            os.chown(self.dir, pwd.getpwnam(self.user["user"]).pw_uid, -1)
        os.chmod(self.dir, 0o755)
        self._make_data()
        with open(self.dir + "/extra.conf", "w", encoding="utf-8") as file:
            file.write(CONFIG.format(dir=self.dir) + config)
        self._append_include()

    def _make_data(self):
        self._run("initdb", "--no-sync", "--auth=trust", "--username=pawl", "--encoding=UTF8",
                  "--locale=C.UTF-8", "-D", self.data)

    @staticmethod
    def run_as():
        """For subprocess: an ordinary user, when we are root."""
        if os.geteuid() != 0:
            return {}
        name = "postgres" if "postgres" in (user.pw_name for user in pwd.getpwall()) else "nobody"
        return {"user": name, "group": pwd.getpwnam(name).pw_gid, "extra_groups": []}

    def _append_include(self):
        with open(self.data + "/postgresql.conf", "a", encoding="utf-8") as file:
            file.write(f"include '{self.dir}/extra.conf'\n")

    def _run(self, program, *args):
        done = subprocess.run([f"{self.bin}/{program}", *args], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, cwd="/",
                              **self.user)
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout}")

    def _command(self):
        return [f"{self.bin}/postgres", "-D", self.data]

    def start(self):
        with open(self.dir + "/log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(self._command(), stdout=log, stderr=log, cwd="/",
                                            preexec_fn=end_with_parent, **self.user)
        for _ in range(2400):
            if self.is_up():
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError("the server did not start:\n" + self.log_tail())

    def is_up(self):
        return subprocess.run([f"{self.bin}/pg_isready", "-q", "-h", self.dir, "-U", "pawl"],
                              check=False, cwd="/").returncode == 0

    def stop(self, how=signal.SIGINT):
        """SIGINT: at once, in order. SIGQUIT: as if it had crashed."""
        if self.process:
            self.process.send_signal(how)
            self.process.wait()
        self.process = None

    def log_tail(self):
        with open(self.dir + "/log", encoding="utf-8", errors="replace") as log:
            return "".join(log.readlines()[-30:])

    def sql(self, text, url=None):
        """One answer, as psql prints it bare; from another database if its URL is given."""
        done = subprocess.run([f"{self.bin}/psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1",
                               url or self.url, "-c", text], capture_output=True, text=True,
                              check=False, cwd="/")
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def wait_for(self, question, patience_s=120):
        """Until the answer is yes."""
        until = time.monotonic() + patience_s
        while self.sql(question) != "t":
            if time.monotonic() > until:
                raise RuntimeError(f"it did not come true: {question}")
            time.sleep(0.02)

    def close(self):
        self.stop()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


class Cramped(Server):
    """A server with a small file system at `small`, in a name space that only it has."""

    ENTER = ["unshare", "-Um", "--map-current-user", "--keep-caps"]
    # who gets a name space is no longer ended with his parent, unless he asks anew
    MOUNT = """mount -t tmpfs -o size=24m,mode=1777 none "$0" && mkdir -m 700 "$0/space" &&
        exec setpriv --pdeathsig INT "$@" """

    def __init__(self):
        self.small = tempfile.mkdtemp(prefix="pawl-small-", dir="/tmp")
        os.chmod(self.small, 0o777)
        super().__init__()

    @staticmethod
    def can_be():
        """May the server's user do that here?"""
        return subprocess.run([*Cramped.ENTER, "mount", "-t", "tmpfs", "none", "/mnt"], cwd="/",
                              check=False, stderr=subprocess.DEVNULL,
                              **Server.run_as()).returncode == 0

    def _command(self):
        # as the server's user, who is root in there as far as mounting goes, and nowhere else
        return [*self.ENTER, "sh", "-c", self.MOUNT, self.small, *super()._command()]

    def inside(self, *command, check=True):
        """Run where the small file system is to be seen."""
        subprocess.run(["nsenter", "-U", "-m", "--preserve-credentials", "-t",
                        str(self.process.pid), *command], check=check, cwd="/",
                       stderr=subprocess.DEVNULL, **self.user)

    def close(self):
        super().close()
        os.rmdir(self.small)


class Standby(Server):
    """A copy of a server, which needs REPLICATED in its configuration, that follows it."""

    def __init__(self, primary):
        self.primary = primary
        super().__init__(REPLICATED)

    def _make_data(self):
        self._run("pg_basebackup", "-D", self.data, "-R", "-X", "stream", "--no-sync",
                  "--checkpoint=fast", "-h", self.primary.dir, "-U", "pawl")

    def leave(self):
        """Hear nothing more of the primary."""
        self.sql("ALTER SYSTEM SET primary_conninfo = ''")
        self.sql("SELECT pg_reload_conf()")
        self.wait_for("SELECT NOT EXISTS (SELECT FROM pg_stat_wal_receiver)")

    def promote(self):
        self.sql("SELECT pg_promote(true, 120)")


REPLICATED = """
wal_level = replica
max_wal_senders = 4
full_page_writes = on
"""


POOLER = """
[databases]
* = host={server} user=pawl
[pgbouncer]
listen_addr =
unix_socket_dir = {dir}
listen_port = 6432
auth_type = any
pool_mode = transaction
default_pool_size = 8
max_client_conn = 200
logfile = {dir}/log
pidfile = {dir}/pid
"""


class Pooler:
    """PgBouncer before a server, lending connections out for a transaction. `where` is what a URL
    needs to lead there."""

    def __init__(self, behind):
        self.dir = behind.dir + "/pool"
        os.mkdir(self.dir)
        if behind.user:
            os.chown(self.dir, pwd.getpwnam(behind.user["user"]).pw_uid, -1)
        with open(self.dir + "/pgbouncer.ini", "w", encoding="utf-8") as file:
            file.write(POOLER.format(server=behind.dir, dir=self.dir))
        self.where = f"host={self.dir}&port=6432&user=pawl"
        self.process = subprocess.Popen([self.find(), "-q", self.dir + "/pgbouncer.ini"], cwd="/",
                                        preexec_fn=end_with_parent, **behind.user)
        for _ in range(2400):
            if os.path.exists(self.dir + "/.s.PGSQL.6432"):
                return
            time.sleep(0.05)
        raise RuntimeError("the pooler did not start")

    @staticmethod
    def find():
        """None: it is not here."""
        return find_tool("pgbouncer")

    def close(self):
        self.process.terminate()
        self.process.wait()
