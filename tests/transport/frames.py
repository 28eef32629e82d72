# SPDX-License-Identifier: MPL-2.0
"""An HTTP/2 peer that sends valid or invalid frames as a test says. Only the header blocks of the
server are decoded by a library, python3-hpack."""
import os
import socket
import ssl
import struct
import subprocess
import time
from pathlib import Path

import hpack

ROOT = Path(__file__).resolve().parents[2]
BUILD = (ROOT / os.environ.get("BUILD", "build")).resolve()

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = \
    range(10)
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8
NO_ERROR, PROTOCOL_ERROR, FLOW_CONTROL_ERROR, REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, CALM = \
    0, 1, 3, 7, 8, 9, 11
INITIAL_WINDOW_SIZE = 4
PROBE = "/csi.v1.Identity/Probe"
EMPTY = bytes(5)  # a message without fields
HUNG_UP = (ConnectionError, ssl.SSLError)


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def integer(value, prefix):
    """Returns an integer in HPACK's format, with the bits before the prefix zero (RFC 7541 section
    5.1)."""
    most = (1 << prefix) - 1
    if value < most:
        return bytes([value])
    value -= most
    rest = b""
    while value > 127:
        rest += bytes([value & 127 | 128])
        value >>= 7
    return bytes([most]) + rest + bytes([value])


def literal(name, value):
    """Returns a literal field without indexing and without Huffman coding; bytes are sent
    unchanged."""
    texts = [text if isinstance(text, bytes) else text.encode() for text in (name, value)]
    return b"\0" + b"".join(integer(len(text), 7) + text for text in texts)


def block(fields):
    return b"".join(literal(name, value) for name, value in fields)


def fields_of(path=PROBE, more=(), **changed):
    """Returns the fields of a request. Keywords replace a field (te="gzip") or omit it
    (te=None)."""
    fields = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "localhost",
              "content-type": "application/grpc", "te": "trailers"}
    names = {name.lstrip(":").replace("-", "_"): name for name in fields}
    for key, value in changed.items():
        fields[names[key]] = value
    return [pair for pair in fields.items() if pair[1] is not None] + list(more)


def headers(stream, fields=None, flags=0):
    return frame(HEADERS, END_HEADERS | flags, stream, block(fields or fields_of()))


def call(stream, fields=None, body=EMPTY):
    return headers(stream, fields) + frame(DATA, END_STREAM, stream, body)


def setting(key, value):
    return struct.pack(">HI", key, value)


def number(value):
    return struct.pack(">I", value)


def message(payload):
    return b"\0" + number(len(payload)) + payload


def streams(first=1):
    return range(first, 1 << 31, 2)


class Answer:
    def __init__(self):
        self.fields = []  # a dict per header block
        self.body = b""
        self.ended = False
        self.reset = None  # the error code of RST_STREAM

    @property
    def http(self):
        return self.fields[0][":status"]

    @property
    def code(self):
        return int(self.fields[-1]["grpc-status"])

    @property
    def text(self):
        return self.fields[-1].get("grpc-message", "")


class Unix:
    """The place where a controller serves: a unix socket."""
    begun = PREFACE[:10]  # half of the preface of a connection

    def __init__(self, folder, _certificates):
        self.path = folder / "controller.sock"
        self.target = f"unix:{self.path}"  # in the syntax of gRPC's own clients
        self.options = ["--endpoint", f"unix://{self.path}"]

    def reach(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(self.path))
        return connection

    connect = reach


class Tcp:
    """The place where a controller serves: a TCP port of the loopback interface."""
    begun = Unix.begun

    def __init__(self, _folder, _certificates):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.target = f"127.0.0.1:{self.port}"
        self.options = ["--endpoint", f"tcp://127.0.0.1:{self.port}"]

    def reach(self):
        connection = socket.socket()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # as small as the buffer of a unix socket, so that a peer that does not read soon blocks
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 17)
        connection.connect(("127.0.0.1", self.port))
        return connection

    connect = reach


class Tls(Tcp):
    """A TCP port with TLS. Both ends use the same certificate, for localhost."""
    begun = b"\x16\x03\x01\x02\x00\x01"

    def __init__(self, folder, certificates):
        super().__init__(folder, certificates)
        files = [certificates / name for name in ("ca.pem", "localhost.pem", "localhost.key")]
        self.options += ["--tls-ca", files[0], "--tls-cert", files[1], "--tls-key", files[2]]
        self.context = ssl.create_default_context(cafile=files[0])
        self.context.load_cert_chain(*files[1:])
        self.context.set_alpn_protocols(["h2"])

    def connect(self):
        return self.context.wrap_socket(self.reach(), server_hostname="localhost")


class Peer:
    """A connection. Reading fails with TimeoutError after `patience` seconds."""

    def __init__(self, place, start=None, patience=5):
        self.socket = place.connect()
        self.socket.settimeout(patience)
        self.decoder = hpack.Decoder()
        self.received = b""
        self.answers = {}
        self.goaways = []  # (last stream, error)
        self.pongs = 0
        self.pings = []
        self.settings = 0
        self.announced = {}  # the server's SETTINGS
        self.window = 65535  # total window of the connection towards the server
        self.windows = {}  # per stream, in addition to the initial window
        self.acked = 0
        self.acking = True
        self.closed = False
        self.send(PREFACE + frame(SETTINGS) if start is None else start)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, bytes_):
        """Returns False if the server has closed the connection."""
        try:
            self.socket.sendall(bytes_)
            return True
        except HUNG_UP:
            return False

    def take(self):
        """Read one chunk and handle its frames. Returns False at the end of the connection."""
        try:
            part = self.socket.recv(1 << 16)
        except HUNG_UP:
            part = b""
        self.closed = not part
        self.received += part
        while len(self.received) >= 9:
            size = int.from_bytes(self.received[:3], "big")
            if len(self.received) < 9 + size:
                break
            kind, flags, stream = struct.unpack(">BBI", self.received[3:9])
            payload = self.received[9:9 + size]
            self.received = self.received[9 + size:]
            self.on_frame(kind, flags, stream, payload)
        return bool(part)

    def on_frame(self, kind, flags, stream, payload):
        answer = self.answers.setdefault(stream, Answer()) if stream else None
        if kind == HEADERS:
            answer.fields.append(dict(self.decoder.decode(payload)))
        elif kind == DATA:
            answer.body += payload
        elif kind == RST_STREAM:
            answer.reset = int.from_bytes(payload, "big")
        elif kind == GOAWAY:
            self.goaways.append(struct.unpack(">II", payload[:8]))
        elif kind == PING and flags & ACK:
            self.pongs += 1
        elif kind == PING:
            self.pings.append(payload)
        elif kind == SETTINGS and flags & ACK:
            self.acked += 1
        elif kind == SETTINGS:
            self.settings += 1
            self.announced.update(struct.iter_unpack(">HI", payload))
            if self.acking:
                self.send(frame(SETTINGS, ACK))
        elif kind == WINDOW_UPDATE and stream == 0:
            self.window += int.from_bytes(payload, "big")
        elif kind == WINDOW_UPDATE:
            self.windows[stream] = self.windows.get(stream, 0) + int.from_bytes(payload, "big")
        if answer and kind in (HEADERS, DATA) and flags & END_STREAM:
            answer.ended = True

    def until(self, condition):
        """Read until the condition holds. Returns False if the connection ends first."""
        while not condition():
            if not self.take():
                return condition()
        return True

    def upload(self, bytes_, stream=1):
        """Send all bytes as DATA when the windows allow it, on a connection that has sent no DATA
        yet; or stop when the answer has arrived."""
        def may_go(end):
            first = self.announced.get(INITIAL_WINDOW_SIZE, 65535)
            answer = self.answers.get(stream)
            return end <= min(self.window, first + self.windows.get(stream, 0)) or \
                answer and (answer.ended or answer.reset is not None)
        for at in range(0, len(bytes_), 16384):
            part = bytes_[at:at + 16384]
            end = at + len(part)
            if not self.until(lambda end=end: may_go(end)):
                break
            self.send(frame(DATA, END_STREAM if end == len(bytes_) else 0, stream, part))

    def answer(self, stream=1):
        """Returns the complete or reset answer, or None if the connection ended first."""
        def done():
            return stream in self.answers and (
                self.answers[stream].ended or self.answers[stream].reset is not None)
        return self.answers[stream] if self.until(done) else None

    def ask(self, fields=None, body=EMPTY, stream=1):
        self.send(call(stream, fields, body))
        return self.answer(stream)

    def drained(self):
        """Read to the end of the connection and return True. Raises TimeoutError if it does not
        end."""
        while self.take():
            pass
        return True


def wait_for(condition, what, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.005)


def reach(endpoint):
    """Returns a connection to unix://PATH or tcp://HOST:PORT."""
    kind, _, rest = endpoint.partition("://")
    host, _, port = rest.rpartition(":")
    connection = socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET)
    connection.settimeout(30)
    connection.connect(rest if kind == "unix" else (host, int(port)))
    return connection


class Controller:
    """zcsi-controller at a place, or at a unix socket in `folder`; its agent does not exist. The
    endpoint `metrics` serves its metrics."""

    def __init__(self, folder, *args, place=None, metrics=None, log_level="error"):
        self.place = place or Unix(folder, None)
        self.metrics = metrics or f"unix://{folder}/metrics.sock"
        self.agent = folder / "agent.sock"
        with open(folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                [BUILD / "zcsi-controller", *self.place.options, "--agent", f"unix://{self.agent}",
                 "--metrics", self.metrics, "--log-level", log_level, *args], stderr=log)
        wait_for(self.listens, "the controller listens")

    def listens(self):
        assert self.process.poll() is None, "the controller has ended"
        try:
            self.place.reach().close()
            reach(self.metrics).close()
        except OSError:
            return False
        return True

    def fds(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def cpu(self):
        """Returns CPU seconds."""
        after_name = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2]
        return sum(map(int, after_name.split()[11:13])) / os.sysconf("SC_CLK_TCK")

    def is_idle(self):
        """Returns True if its metrics show neither an open connection nor a call in flight."""
        with reach(self.metrics) as connection:
            connection.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            lines = connection.makefile().read().splitlines()
        names = "zcsi_rpc_in_flight ", "zcsi_connections_open{"
        figures = [line.split()[-1] for line in lines if line.startswith(names)]
        return figures == ["0", "0"]

    def rss(self):
        """Returns kilobytes."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise AssertionError("no VmRSS")

    def probe(self):
        with Peer(self.place) as peer:
            answer = peer.ask()
            assert answer and answer.code == 0

    def stop(self):
        self.process.terminate()
        return self.process.wait(20)
