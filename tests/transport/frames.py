# SPDX-License-Identifier: MPL-2.0
"""An HTTP/2 peer that sends what it is told to, right or wrong, frame by frame. Only the decoding
of the server's header blocks is left to python3-hpack."""
import os
import socket
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
EMPTY = bytes(5)  # a message of no bytes


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def integer(value, prefix):
    """HPACK's integers, with the bits before the prefix zero (RFC 7541 5.1)."""
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
    """A field that enters no table, without Huffman; bytes go as they are."""
    texts = [text if isinstance(text, bytes) else text.encode() for text in (name, value)]
    return b"\0" + b"".join(integer(len(text), 7) + text for text in texts)


def block(fields):
    return b"".join(literal(name, value) for name, value in fields)


def fields_of(path=PROBE, more=(), **changed):
    """A request's fields. Keywords replace one (te="gzip") or leave it out (te=None)."""
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


class Answer:
    def __init__(self):
        self.fields = []  # one dict for each header block
        self.body = b""
        self.ended = False
        self.reset = None  # the error of RST_STREAM

    @property
    def http(self):
        return self.fields[0][":status"]

    @property
    def code(self):
        return int(self.fields[-1]["grpc-status"])

    @property
    def text(self):
        return self.fields[-1].get("grpc-message", "")


class Peer:
    """One connection. Reading stops after `patience` seconds with TimeoutError."""

    def __init__(self, path, start=None, patience=5):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.socket.settimeout(patience)
        self.decoder = hpack.Decoder()
        self.received = b""
        self.answers = {}
        self.goaways = []  # (last stream, error)
        self.pongs = 0
        self.pings = []
        self.settings = 0
        self.acked = 0
        self.acking = True
        self.closed = False
        self.send(PREFACE + frame(SETTINGS) if start is None else start)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, bytes_):
        """False when the server has hung up."""
        try:
            self.socket.sendall(bytes_)
            return True
        except (BrokenPipeError, ConnectionResetError):
            return False

    def take(self):
        """Read once and sort out what came; False at the end of the connection."""
        try:
            part = self.socket.recv(1 << 16)
        except ConnectionResetError:
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
            if self.acking:
                self.send(frame(SETTINGS, ACK))
        if answer and kind in (HEADERS, DATA) and flags & END_STREAM:
            answer.ended = True

    def until(self, condition):
        """Read until it holds; False when the connection ends before."""
        while not condition():
            if not self.take():
                return condition()
        return True

    def answer(self, stream=1):
        """The whole answer, or how it was reset; None when the connection ended before."""
        def done():
            return stream in self.answers and (
                self.answers[stream].ended or self.answers[stream].reset is not None)
        return self.answers[stream] if self.until(done) else None

    def ask(self, fields=None, body=EMPTY, stream=1):
        self.send(call(stream, fields, body))
        return self.answer(stream)

    def drained(self):
        """Read to the end of the connection: True. (TimeoutError: it does not end.)"""
        while self.take():
            pass
        return True


def wait_for(condition, what, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.005)


class Controller:
    """zcsi-controller on a unix socket in `folder`; nobody answers for its agent."""

    def __init__(self, folder):
        self.path = folder / "controller.sock"
        self.agent = folder / "agent.sock"
        with open(folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                [BUILD / "zcsi-controller", "--endpoint", f"unix://{self.path}", "--agent",
                 f"unix://{self.agent}", "--log-level", "error"], stderr=log)
        wait_for(self.listens, "the controller listens")

    def listens(self):
        assert self.process.poll() is None, "the controller has ended"
        try:
            Peer(self.path, b"").socket.close()
        except OSError:
            return False
        return True

    def fds(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def rss(self):
        """Kilobytes."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise AssertionError("no VmRSS")

    def probe(self):
        with Peer(self.path) as peer:
            answer = peer.ask()
            assert answer and answer.code == 0

    def stop(self):
        self.process.terminate()
        return self.process.wait(20)
