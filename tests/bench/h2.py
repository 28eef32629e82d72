# SPDX-License-Identifier: MPL-2.0
"""A minimal client that sends a Probe to a gRPC server: one connection, and bytes prepared
beforehand, so that no start-up time of the client is measured."""
import socket
import struct

DATA, HEADERS, SETTINGS = 0, 1, 4
END_STREAM, END_HEADERS = 1, 4
PATH = "/csi.v1.Identity/Probe"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def literal(name, value):
    """Returns an HPACK literal without indexing and without Huffman coding."""
    return b"\0" + b"".join(bytes([len(text)]) + text.encode() for text in (name, value))


PROBE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0) + frame(
    HEADERS, END_HEADERS, 1, b"".join(literal(*pair) for pair in (
        (":method", "POST"), (":scheme", "http"), (":path", PATH), (":authority", "localhost"),
        ("content-type", "application/grpc"), ("te", "trailers")))) + frame(
    DATA, END_STREAM, 1, bytes(5))


def trailers(received):
    """Returns True if the HEADERS frame that ends stream 1 has arrived."""
    while len(received) >= 9:
        size = int.from_bytes(received[:3], "big")
        kind, flags, stream = struct.unpack(">BBI", received[3:9])
        if (kind, flags & END_STREAM, stream) == (HEADERS, END_STREAM, 1):
            return len(received) >= 9 + size
        received = received[9 + size:]
    return False


def probe(path):
    """Send one Probe and return True when it is answered, or False if nothing listens yet."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
        except OSError:
            return False
        connection.sendall(PROBE)
        received = b""
        while not trailers(received):
            part = connection.recv(65536)
            if not part:
                return False
            received += part
        return True
