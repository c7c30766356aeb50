"""Servers of PostgreSQL in directories of their own: shared by Tools/cluster and Tools/bench/cluster."""

import glob
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess

DATABASE = "carillon"
# How long, in seconds, the programs of PostgreSQL wait for a server.
PATIENCE = 600


class Broken(Exception):
    """An expected event did not happen, and the demonstration cannot continue."""


def free_port(taken=set()):
    for port in random.sample(range(20000, 32000), 200):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in taken:
            taken.add(port)
            return port
    raise Broken("cannot find a free port on 127.0.0.1")


class Server:
    """A server of PostgreSQL in a directory of its own. Initdb refuses root, so that root uses the user postgres."""

    PROGRAMS = max(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda p: int(p.split("/")[4]), default="")

    def __init__(self, directory, name):
        self.name, self.port = name, free_port()
        self.directory = directory / name
        self.data = self.directory / "data"
        self.directory.mkdir(mode=0o700)
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.directory, user.pw_uid, user.pw_gid)

    def run(self, program, *words, check=True):
        command = [f"{self.PROGRAMS}/{program}", *map(str, words)]
        if os.geteuid() == 0:
            command = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"] + command
        with open(self.directory / "output", "ab") as output:
            ended = subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        if check and ended.returncode != 0:
            raise Broken(f"{program} failed: {(self.directory / 'output').read_text()[-1000:]}")

    def configure(self, **more):
        lines = {
            "listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": self.directory,
            "cluster_name": self.name, "shared_buffers": "64MB", "max_connections": 100, "wal_keep_size": "256MB",
            "wal_sender_timeout": "5s", **more}
        with open(self.data / "postgresql.auto.conf", "a") as file:
            file.writelines(f"{key} = '{value}'\n" for key, value in lines.items())

    def launch(self):
        self.run("pg_ctl", "-D", self.data, "-l", self.directory / "log", "-w", "-t", 86400, "start")

    def create(self):
        self.run("initdb", "-D", self.data, "-U", "carillon", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale", "C")
        self.configure()
        self.launch()
        self.sql(f"CREATE DATABASE {DATABASE}", database="postgres")

    def follow(self, primary, servers):
        """Becomes a standby of a primary, from a copy of it. Once promoted, it waits for one of the others."""
        shutil.rmtree(self.data, ignore_errors=True)
        self.run("pg_basebackup", "-D", self.data, "-R", "-X", "stream", "-c", "fast", "--no-sync", "-d",
                 f"host=127.0.0.1 port={primary.port} user=carillon")
        self.configure(primary_conninfo=self.conninfo(primary), synchronous_standby_names=self.any(servers))
        self.launch()

    @staticmethod
    def any(servers):
        return f"ANY 1 ({', '.join(server.name for server in servers)})"

    def conninfo(self, primary):
        return f"host=127.0.0.1 port={primary.port} user=carillon application_name={self.name}"

    def sql(self, text, database=DATABASE):
        ended = subprocess.run(
            ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port), "-U",
             "carillon", "-d", database, "-c", text], capture_output=True, text=True)
        if ended.returncode != 0:
            raise Broken(f"psql: {ended.stderr}")
        return ended.stdout.strip()

    def processes(self):
        found = []
        for path in glob.glob("/proc/[0-9]*/cwd"):
            try:
                if os.readlink(path) == str(self.data):
                    found.append(int(path.split("/")[2]))
            except OSError:
                pass
        return found

    def signal(self, number):
        for _ in range(3 if number == signal.SIGKILL else 1):
            for process in self.processes():
                try:
                    os.kill(process, number)
                except ProcessLookupError:
                    pass

    def kill(self):
        while self.processes():
            self.signal(signal.SIGKILL)
        for left in [self.data / "postmaster.pid", self.directory / f".s.PGSQL.{self.port}.lock"]:
            left.unlink(missing_ok=True)
