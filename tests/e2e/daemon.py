# SPDX-License-Identifier: MPL-2.0
"""The two daemons as processes, and wait_for: tests wait for conditions, never for a fixed time."""
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import grpc

from client import PATIENCE, ROOT, Client

BUILD = (ROOT / os.environ.get("BUILD", "build")).resolve()


def wait_for(condition, what, seconds=20, pause=0.002):
    """Return the first true value of condition(); fail with `what` if none comes in time."""
    seconds *= PATIENCE
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(pause * PATIENCE)


def accepts(path):
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True


class Daemon:
    """A zcsi program with its first --endpoint on a unix socket in `folder`. `prefix` is a command
    that runs the program; only the program gets the variables of `env`."""

    started = []  # every daemon of this session

    def __init__(self, program, folder, *args, name=None, env=None, prefix=()):
        self.name = name or program
        self.socket = Path(folder, f"{self.name}.sock")
        self.log_path = Path(folder, f"{self.name}.log")
        self.env = {**os.environ, **(env or {})}
        if prefix and env:
            prefix = [*prefix, "env", *map("=".join, env.items())]
            self.env = os.environ
        self.argv = [*prefix, str(BUILD / program), "--endpoint", f"unix://{self.socket}",
                     "--log-level", "debug", "--log-format", "json", *map(str, args)]
        self.process = None
        self.clients = []

    def spawn(self):
        assert not self.running(), f"{self.name} runs already, and would outlive the test"
        Daemon.started.append(self)
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.argv, env=self.env, stderr=log, stdout=log)
        return self

    def start(self):
        self.spawn()
        wait_for(lambda: self.answers() or self.process.poll() is not None, f"{self.name} answers")
        assert self.process.poll() is None, f"{self.name} ended: {self.text()}"
        return self

    def answers(self):
        if not accepts(self.socket):
            return False
        client = Client(f"unix:{self.socket}")
        call = client.Probe.future(timeout=5)
        ready = call.code() is grpc.StatusCode.OK and call.result().ready.value
        client.close()
        return ready

    def client(self, target=None):
        """Return a new connection, which is closed when the daemon is stopped."""
        self.clients.append(Client(target or f"unix:{self.socket}"))
        return self.clients[-1]

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, seconds=20):
        return self.process.wait(seconds * PATIENCE)

    def running(self):
        return self.process is not None and self.process.poll() is None

    def stop(self):
        """Stop the daemon by SIGTERM: it must exit with status 0 and remove its socket. The clients
        are closed first, because an idle grpcio does not answer a PING and the daemon would wait a
        second for that before it closes the connection."""
        self.close()
        self.signal(signal.SIGTERM)
        status = self.wait()
        assert status == 0, f"{self.name} ended with {status}: {self.text()[-2000:]}"
        assert not self.socket.exists()

    def kill(self):
        self.process.kill()
        self.wait()

    def close(self):
        for client in self.clients:
            client.close()
        self.clients.clear()

    def text(self):
        self.log_path.touch()
        return self.log_path.read_text(errors="surrogateescape")

    def log(self):
        """Return the log as a list of JSON objects, without a line that is still being written."""
        return [json.loads(line) for line in self.text().split("\n")[:-1]]

    def runs(self, since=0):
        """Return the argv texts of the processes that the daemon has run after line `since` of its
        log."""
        return [line["argv"] for line in self.log()[since:] if line["msg"] == "program was run"]

    def mark(self):
        return len(self.log())
