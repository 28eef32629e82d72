# SPDX-License-Identifier: MPL-2.0
"""What a hostile peer may try. Whatever it is, others are served meanwhile, and afterwards the
controller has no more memory and descriptors than before."""
import contextlib
import os
import socket
import threading
import time
from random import Random

import pytest

from frames import (CALM, CANCEL, CONTINUATION, DATA, EMPTY, END_HEADERS, END_STREAM, HEADERS,
                    INITIAL_WINDOW_SIZE, PING, PREFACE, PRIORITY, PROTOCOL_ERROR, RST_STREAM,
                    SETTINGS, WINDOW_UPDATE, Peer, block, call, fields_of, frame, headers, integer,
                    message, number, setting, wait_for)

GROWTH_KB = int(os.environ.get("GROWTH_KB", 8 << 10))
SLOWEST_S = 1.0
EXHAUSTED, UNIMPLEMENTED = 8, 12


class Bystander(threading.Thread):
    """Somebody else's Probes, one connection after the other."""

    def __init__(self, controller):
        super().__init__()
        self.controller = controller
        self.stop = threading.Event()
        self.times = []
        self.error = None

    def run(self):
        try:
            while not self.stop.is_set() or not self.times:
                began = time.monotonic()
                self.controller.probe()
                self.times.append(time.monotonic() - began)
                self.stop.wait(0.01)
        except (AssertionError, IndexError, OSError) as error:
            self.error = error


@contextlib.contextmanager
def harmless(controller):
    """Around an attack."""
    controller.probe()
    fds, rss = controller.fds(), controller.rss()
    bystander = Bystander(controller)
    bystander.start()
    try:
        yield
    finally:
        bystander.stop.set()
        bystander.join()
    assert bystander.error is None
    assert max(bystander.times) < SLOWEST_S
    wait_for(lambda: controller.fds() <= fds, f"{fds} descriptors again")
    assert controller.rss() - rss < GROWTH_KB
    controller.probe()


@pytest.fixture
def attack(controller):
    with harmless(controller), Peer(controller.path) as peer:
        peer.until(lambda: peer.settings)
        yield peer


def flood(peer, part, most):
    """Send again and again, reading nothing, until the server hangs up; it must before `most`
    bytes."""
    piece = part * (1 + 60000 // len(part))
    sent = 0
    while peer.send(piece):
        sent += len(piece)
        assert sent < most, "the server takes it all"
    return sent


def streams(first=1):
    return range(first, 1 << 31, 2)


def each(peer, make, n):
    """Send make(stream) for n streams, reading now and then; False when the server hangs up."""
    for at, stream in zip(range(n), streams()):
        if not peer.send(make(stream)):
            return False
        if at % 10 == 9:
            peer.socket.settimeout(0.001)
            with contextlib.suppress(TimeoutError):
                if not peer.take():
                    return False
            peer.socket.settimeout(5)
    return True


def test_rapid_reset(attack):
    assert not each(attack, lambda stream: call(stream) +
                    frame(RST_STREAM, 0, stream, number(CANCEL)), 20000)


def test_rapid_reset_in_large_writes(attack):
    together = b"".join(headers(stream) + frame(RST_STREAM, 0, stream, number(CANCEL))
                        for stream, _ in zip(streams(), range(20000)))
    attack.send(together)
    assert attack.drained()


@pytest.mark.parametrize("provoke", [
    lambda stream: headers(stream) + frame(WINDOW_UPDATE, 0, stream, number((1 << 31) - 1)),
    lambda stream: headers(stream) + frame(WINDOW_UPDATE, 0, stream, number(0)),
    lambda stream: call(stream, fields_of(more=[("content-length", "9")])),
    lambda stream: headers(stream, fields_of(te="gzip")),
    lambda stream: headers(stream) + headers(stream, [("x", "1")]),
    lambda stream: headers(stream) + headers(stream, [(":path", "/")], END_STREAM),
    lambda stream: call(stream) + frame(DATA, 0, stream, b"more")],
    ids=["window overflow", "window zero", "content-length", "field", "trailers",
         "pseudo trailers", "data after end"])
def test_made_you_reset(attack, provoke):
    assert not each(attack, provoke, 5000)
    resets = sum(answer.reset is not None for answer in attack.answers.values())
    assert resets < 100


@pytest.mark.parametrize("part", [b"", b"\0\1x\1y", b"\0\1x\x7f\x81\x0a" + bytes(1024)])
def test_continuation_flood(attack, part):
    attack.send(frame(HEADERS, 0, 1, block(fields_of())))
    flood(attack, frame(CONTINUATION, 0, 1, part), 1 << 20)


@pytest.mark.parametrize("part, most", [
    (frame(PING, 0, 0, bytes(8)), 4 << 20), (frame(SETTINGS), 4 << 20),
    (frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 1) * 30), 4 << 20),
    (frame(PRIORITY, 0, 1, bytes(5)), 16 << 20), (frame(WINDOW_UPDATE, 0, 0, number(1)), 16 << 20),
    (frame(0xee, 0, 0, bytes(1000)), 16 << 20), (frame(PING, 1, 0, bytes(8)), 16 << 20)],
    ids=["PING", "SETTINGS", "long SETTINGS", "PRIORITY", "WINDOW_UPDATE", "unknown", "PING ACK"])
def test_frame_flood(attack, part, most):
    flood(attack, part, most)


def test_ping_flood_with_reading(attack):
    """Every answer is read, so nothing queues up; too many are too many all the same."""
    sent = 0
    while attack.send(frame(PING, 0, 0, bytes(8)) * 10):
        sent += 10
        if not attack.until(lambda: attack.pongs >= sent):
            break
        assert sent < 10000, "the server answers them all"
    assert [code for _, code in attack.goaways] == [CALM]


def test_empty_data_flood(attack):
    attack.send(headers(1))
    flood(attack, frame(DATA, 0, 1), 16 << 20)


def test_one_byte_data(attack):
    """Wasteful, but a message all the same: it is taken, in as much memory as it has bytes."""
    whole = message(b"\x0a\xfc\xd3\x03" + bytes(59900))
    attack.send(headers(1))
    for at in range(0, len(whole), 1000):
        attack.send(b"".join(frame(DATA, 0, 1, bytes([byte])) for byte in whole[at:at + 1000]))
    attack.send(frame(DATA, END_STREAM, 1))
    assert attack.answer().code == 0


def test_refused_streams_unread(controller):
    """SETTINGS never acknowledged, so every stream past the hundredth is refused, and no
    RST_STREAM is ever read."""
    with harmless(controller), Peer(controller.path) as peer:
        peer.acking = False
        stream = iter(streams())
        sent = 0
        while peer.send(b"".join(headers(next(stream)) for _ in range(500))):
            sent += 500
            assert sent < 200000, "the server takes it all"


def test_answers_unread(controller):
    with harmless(controller), Peer(controller.path) as peer:
        stream = iter(streams())
        sent = 0
        while peer.send(b"".join(call(next(stream), fields_of(path="/x/y")) for _ in range(500))):
            sent += 500
            assert sent < 200000, "the server takes it all"


def hpack_bomb(stream, refer):
    """A field of 4000 bytes enters the table once, then one byte a time means it again."""
    first = b"\x40\1x" + integer(3900, 7) + b"v" * 3900 if not refer else b""
    return frame(HEADERS, END_HEADERS, stream, first + block(fields_of()) +
                 b"\xbe" * (16000 - len(first) - 200))


def test_hpack_bomb(attack):
    began = time.monotonic()
    attack.send(hpack_bomb(1, False))
    assert attack.answer(1).code == EXHAUSTED
    for stream, _ in zip(streams(3), range(200)):
        attack.send(hpack_bomb(stream, True))
        assert attack.answer(stream).code == EXHAUSTED
    assert time.monotonic() - began < 2
    assert attack.ask(stream=1001).code == 0


def test_empty_field_names(attack):
    assert not each(attack, lambda stream: headers(stream, fields_of() + [("", "")] * 100), 5000)


def test_long_settings(attack):
    attack.send(frame(SETTINGS, 0, 0, setting(0xf0, 1) * 1000))
    assert attack.drained()
    assert [code for _, code in attack.goaways] == [CALM]


def test_huge_header_table(attack):
    attack.send(frame(SETTINGS, 0, 0, setting(1, (1 << 32) - 1)))
    for stream, _ in zip(streams(), range(500)):
        assert attack.ask(fields_of(path=f"/nobody/{stream}"), stream=stream).code == UNIMPLEMENTED


def test_slow_loris(controller):
    """Thirty connections with a hundred half requests each: 2 KB a piece."""
    with harmless(controller), contextlib.ExitStack() as stack:
        rss = controller.rss()
        peers = [stack.enter_context(Peer(controller.path)) for _ in range(30)]
        for peer in peers:
            assert peer.until(lambda peer=peer: peer.settings)
            peer.send(b"".join(headers(stream) for stream, _ in zip(streams(), range(100))) +
                      frame(PING, 0, 0, bytes(8)))
        for peer in peers:
            assert peer.until(lambda peer=peer: peer.pongs)
        assert controller.rss() - rss < 16 << 10


def test_declared_but_not_sent(controller):
    """A thousand messages that say they have 4 MiB and never come."""
    with harmless(controller), contextlib.ExitStack() as stack:
        for _ in range(10):
            peer = stack.enter_context(Peer(controller.path))
            peer.until(lambda peer=peer: peer.settings)
            peer.send(b"".join(headers(stream) + frame(DATA, 0, stream, b"\0\0\x40\0\0x")
                               for stream, _ in zip(streams(), range(100))))
            peer.send(frame(PING, 0, 0, bytes(8)))
            assert peer.until(lambda peer=peer: peer.pongs)


def test_half_requests_are_bounded_together(controller):
    """Twenty times 1.5 MB of requests that say they have 4 MiB: beyond 16 MiB they are refused."""
    with harmless(controller), contextlib.ExitStack() as stack:
        part = frame(DATA, 0, 1, bytes(15000)) * 4
        peers = [stack.enter_context(Peer(controller.path)) for _ in range(20)]
        for peer in peers:
            assert peer.until(lambda peer=peer: peer.settings)
            peer.send(headers(1) + frame(DATA, 0, 1, b"\0\0\x3f\xff\xff"))
            for n in range(1, 26):
                peer.send(part + frame(PING, 0, 0, bytes(8)))
                assert peer.until(lambda peer=peer, n=n: peer.pongs == n)
        codes = [peer.answers[1].code for peer in peers if peer.answers[1].fields]
        assert 5 < len(codes) < 15 and set(codes) == {EXHAUSTED}


def test_zero_window(attack):
    """A hundred answers that it does not let us send."""
    attack.send(frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 0)))
    attack.send(b"".join(call(stream) for stream, _ in zip(streams(), range(100))))
    attack.send(frame(PING, 0, 0, bytes(8)))
    assert attack.until(lambda: attack.pongs)
    assert all(not answer.body for answer in attack.answers.values())


def test_window_shuffling(attack):
    """INITIAL_WINDOW_SIZE to and fro with open streams: each change visits all of them."""
    attack.send(b"".join(headers(stream) for stream, _ in zip(streams(), range(100))))
    change = frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 1)) + \
        frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 100000))
    flood(attack, change, 16 << 20)


def test_many_connections(controller):
    """There are 256; the oldest that asks for nothing makes room, one with a call stays."""
    controller.probe()
    fds, rss = controller.fds(), controller.rss()
    with Peer(controller.path) as busy, contextlib.ExitStack() as stack:
        assert busy.until(lambda: busy.settings)
        busy.send(headers(1))
        peers = [stack.enter_context(Peer(controller.path)) for _ in range(300)]
        assert peers[-1].ask().code == 0
        for peer in peers[:300 - 255]:
            assert peer.until(lambda peer=peer: peer.closed)
        assert all(peer.ask().code == 0 for peer in peers[300 - 255:-1])
        busy.send(frame(DATA, END_STREAM, 1, EMPTY))
        assert busy.answer().code == 0
    wait_for(lambda: controller.fds() <= fds, "the descriptors again")
    assert controller.rss() - rss < GROWTH_KB
    controller.probe()


def test_connections_that_come_and_go(controller):
    with harmless(controller):
        for at in range(2000):
            with contextlib.suppress(BrokenPipeError, ConnectionResetError, BlockingIOError):
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.connect(str(controller.path))
                    connection.send((PREFACE + frame(SETTINGS) + call(1))[:at % 200])


def test_protobuf_amplification(attack):
    """4 MiB of empty submessages would be 200 MB of structs."""
    fields = fields_of(path="/csi.v1.Controller/CreateVolume")
    whole = message(b"\x1a\0" * ((2 << 20) - 1))
    attack.send(headers(1, fields))
    attack.send(b"".join(frame(DATA, 0, 1, whole[at:at + 16000])
                         for at in range(0, len(whole), 16000)) + frame(DATA, END_STREAM, 1))
    assert attack.answer().code == EXHAUSTED


@pytest.mark.parametrize("seed", range(8))
def test_noise(controller, seed):
    """Bytes from nowhere, and good frames with some bytes changed."""
    random = Random(seed)
    with harmless(controller):
        for _ in range(150):
            good = bytearray(call(1) + frame(PING, 0, 0, bytes(8)) + call(3) + headers(5) +
                             frame(RST_STREAM, 0, 5, number(CANCEL)) + call(7))
            for _ in range(random.randrange(1, 6)):
                good[random.randrange(len(good))] = random.randrange(256)
            if seed == 0:
                good = bytearray(os.urandom(300))
            with Peer(controller.path, PREFACE + frame(SETTINGS) + bytes(good)) as peer:
                assert peer.until(lambda peer=peer: peer.settings)
