# SPDX-License-Identifier: MPL-2.0
"""The servers that the benchmarks compare: how each is built and started, and what the kernel
reports about its process."""
import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import grpc

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from daemon import BUILD  # noqa: E402
from h2 import PATH, probe  # noqa: E402

PEERS = BUILD / "bench"
READY = b"\x0a\x02\x08\x01"
PATIENCE = 20  # seconds

# Commands of servers that answer Probe at {endpoint}. Programs that take a CA, a certificate and a
# key as further arguments use TLS with them.
CONTROLLER = [BUILD / "zcsi-controller", "--endpoint", "{endpoint}", "--agent", "{folder}/agent"]
COMMANDS = {
    "zcsi-controller": CONTROLLER,
    "zcsi-controller, TLS": [*CONTROLLER, "--endpoint", "tcp://127.0.0.1:{port}", "--tls-ca",
                             "{folder}/ca.pem", "--tls-cert", "{folder}/end.pem",
                             "--tls-key", "{folder}/end.key"],
    "zcsi-controller, metrics": [*CONTROLLER, "--metrics", "tcp://127.0.0.1:{port}"],
    "zcsi-node": [BUILD / "zcsi-node", "--endpoint", "{endpoint}",
                  "--agent-endpoint", "{folder}/agent"],
    "zcsi": [BUILD / "tests/bench/server", "{endpoint}"],
    "gRPC C++": [PEERS / "cpp", "{endpoint}"],
    "grpc-go": [PEERS / "go", "{endpoint}"],
    "grpc-js": ["node", PEERS / "js/main.js", "{endpoint}"],
    "grpcio": [sys.executable, HERE / "peers/grpcio.py", "{endpoint}"],
}
CREDENTIALS = ["{folder}/ca.pem", "{folder}/end.pem", "{folder}/end.key"]
# For each server that has to be built: its target in peers/Makefile.
TARGETS = {"gRPC C++": "cpp", "grpc-go": "go", "grpc-js": "js"}


def make(target):
    """Build a target of peers/Makefile. Returns the first line of the error, or 0."""
    done = subprocess.run(["make", "-s", "-C", HERE / "peers", f"OUT={PEERS}", target],
                          capture_output=True, text=True, check=False)
    return done.returncode and (done.stderr.strip() or "make failed").splitlines()[0]


def build(names):
    """Build servers. Returns those of `names` that can be started, and prints why others cannot."""
    PEERS.mkdir(parents=True, exist_ok=True)
    built = []
    for name in names:
        problem = name in TARGETS and make(TARGETS[name])
        if problem:
            print(f"{name} is left out: {problem}")
        else:
            built.append(name)
    return built


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def accepts(port):
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def undisturbed():
    """Give processes that are started in this context real-time priority over others on the host.
    If that is not allowed, print a note."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        print("no real-time priority: what else runs on this host is in the figures")
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def make_credentials(folder):
    """Create a CA, and one certificate that all servers use."""
    new = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt",
           "ec_paramgen_curve:P-256", "-days", "2"]
    for extra in (["-subj", "/CN=bench CA", "-keyout", "ca.key", "-out", "ca.pem"],
                  ["-subj", "/CN=localhost", "-keyout", "end.key", "-out", "end.pem",
                   "-CA", "ca.pem", "-CAkey", "ca.key",
                   "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                   "-addext", "basicConstraints=critical,CA:FALSE"]):
        subprocess.run(new + extra, cwd=folder, check=True, capture_output=True)


class Server:
    """A server process, on one CPU or (None) on all, at a unix socket or (tls) a TCP port. It may
    not be ready yet."""

    def __init__(self, name, folder, cpu=None, tls=False):
        self.name, self.folder, self.tls = name, folder, tls
        self.cpu_set = {cpu} if cpu is not None else None
        self.socket = f"{folder}/{time.monotonic_ns()}.sock"
        self.port = free_port()
        self.endpoint = f"tcp://127.0.0.1:{self.port}" if tls else f"unix://{self.socket}"
        self.pid = None

    def argv(self):
        words = COMMANDS[self.name] + (CREDENTIALS if self.tls else [])
        return [str(word).format(**vars(self)) for word in words]

    def __enter__(self):
        argv, ours = self.argv(), os.sched_getaffinity(0)
        with open(f"{self.folder}/log", "ab") as log:
            files = [(os.POSIX_SPAWN_DUP2, log.fileno(), number) for number in (1, 2)]
            os.sched_setaffinity(0, self.cpu_set or ours)
            self.pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=files)
            os.sched_setaffinity(0, ours)
        return self

    def __exit__(self, *_):
        os.kill(self.pid, 15)
        os.waitpid(self.pid, 0)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket)

    def wait(self):
        """Wait until the server has answered a Probe; at a TCP port, until it accepts
        connections."""
        end = time.monotonic() + PATIENCE
        while not (accepts(self.port) if self.tls else probe(self.socket)):
            if time.monotonic() > end:
                raise RuntimeError(f"{self.name} does not answer")
        return self

    def verify(self):
        """Check that the server gives a gRPC client the right answer."""
        with grpc.insecure_channel(f"unix:{self.socket}") as channel:
            answer = channel.unary_unary(PATH)(b"", timeout=PATIENCE, wait_for_ready=True)
        assert answer == READY, f"{self.name} answers {answer}"

    def cpu(self):
        """Returns the server's CPU seconds in user and kernel mode, from the clock that
        clock_getcpuclockid(3) derives from the process id."""
        return time.clock_gettime(~self.pid << 3 | 2)

    def memory(self):
        """Returns the resident, proportional and private memory in kB."""
        text = Path(f"/proc/{self.pid}/smaps_rollup").read_text(encoding="ascii")
        sizes = {key: int(value) for key, value in re.findall(r"^(\w+): +(\d+) kB", text, re.M)}
        return sizes["Rss"], sizes["Pss"], sizes["Private_Clean"] + sizes["Private_Dirty"]

    def program(self):
        """Returns the size of the program file in kB without debug information; libraries are not
        included."""
        with tempfile.NamedTemporaryFile() as bare:
            subprocess.run(["strip", "-o", bare.name, f"/proc/{self.pid}/exe"], check=True)
            return os.stat(bare.name).st_size / 1000

    def switches(self):
        """Returns the number of context switches, voluntary or not, of the server's threads."""
        return sum(int(count) for task in Path(f"/proc/{self.pid}/task").glob("*/status")
                   for count in re.findall(r"ctxt_switches:\s+(\d+)",
                                           task.read_text(encoding="ascii")))


def start(name, folder):
    """Returns the milliseconds from exec to the first answered Probe, and the memory at that
    time."""
    begin = time.monotonic()
    with Server(name, folder) as server:
        server.wait()
        return (time.monotonic() - begin) * 1000, server.memory()
