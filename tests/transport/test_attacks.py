# SPDX-License-Identifier: MPL-2.0
"""Attacks by what a peer sends, repeatedly or once. Attacks by resources that a peer holds are in
test_attacks_held.py."""
import contextlib
import itertools
import os
import time
from random import Random

import pytest

from frames import (CALM, CANCEL, CONTINUATION, DATA, EMPTY, END_HEADERS, END_STREAM, HEADERS,
                    INITIAL_WINDOW_SIZE, PING, PREFACE, PRIORITY, RST_STREAM, SETTINGS,
                    WINDOW_UPDATE, Controller, Peer, block, call, fields_of, frame, headers,
                    integer, message, number, setting, streams)
from harmless import harmless

MOST = 32 << 20  # more than the kernel's buffers
EXHAUSTED, UNIMPLEMENTED = 8, 12


def flood(peer, part):
    """Send the bytes repeatedly, without reading, until the server closes the connection."""
    piece = part * (1 + 60000 // len(part))
    sent = 0
    while peer.send(piece):
        sent += len(piece)
        assert sent < MOST, "the server takes it all"
    return sent


def each(peer, make, n):
    """Send make(stream) for n streams, with reads in between. Returns False if the server closes
    the connection."""
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


def test_rapid_reset_ends_the_connection(attack):
    assert not each(attack, lambda stream: call(stream) +
                    frame(RST_STREAM, 0, stream, number(CANCEL)), 20000)


def test_rapid_reset_in_large_writes_ends_the_connection(attack):
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
def test_provoked_resets_are_bounded(attack, provoke):
    assert not each(attack, provoke, 5000)
    resets = sum(answer.reset is not None for answer in attack.answers.values())
    assert resets < 100


@pytest.mark.parametrize("part", [b"", b"\0\1x\1y", b"\0\1x\x7f\x81\x0a" + bytes(1024)])
def test_continuation_flood_ends_the_connection(attack, part):
    attack.send(frame(HEADERS, 0, 1, block(fields_of())))
    flood(attack, frame(CONTINUATION, 0, 1, part))


@pytest.mark.parametrize("n, taken", [(4, True), (5, False)])
def test_continuations_are_bounded(attack, n, taken):
    """A header block may consist of five frames, and none may be empty."""
    coded = block(fields_of())
    attack.send(frame(HEADERS, 0, 1, coded[:10]))
    for at in range(10, 9 + n):
        attack.send(frame(CONTINUATION, 0, 1, coded[at:at + 1]))
    attack.send(frame(CONTINUATION, END_HEADERS, 1, coded[9 + n:]) +
                frame(DATA, END_STREAM, 1, EMPTY))
    answer = attack.answer()
    assert answer.code == 0 if taken else answer is None


@pytest.mark.parametrize("n, taken", [(99, True), (150, False)])
def test_unread_acks_are_bounded(attack, n, taken):
    """The server has to acknowledge each SETTINGS; the peer reads none of it before it has sent the
    last."""
    attack.send(frame(SETTINGS) * n)
    assert attack.until(lambda: attack.acked == n + 1) == taken


@pytest.mark.parametrize("part", [
    frame(PING, 0, 0, bytes(8)), frame(SETTINGS),
    frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 1) * 30), frame(PRIORITY, 0, 1, bytes(5)),
    frame(WINDOW_UPDATE, 0, 0, number(1)), frame(0xee, 0, 0, bytes(1000)),
    frame(PING, 1, 0, bytes(8))],
    ids=["PING", "SETTINGS", "long SETTINGS", "PRIORITY", "WINDOW_UPDATE", "unknown", "PING ACK"])
def test_frame_floods_are_bounded(attack, part):
    flood(attack, part)


def test_ping_flood_ends_the_connection(attack):
    """The peer reads every PING ACK, so that nothing queues up; too many PINGs are refused
    nevertheless."""
    sent = 0
    while attack.send(frame(PING, 0, 0, bytes(8)) * 10):
        sent += 10
        if not attack.until(lambda: attack.pongs >= sent):
            break
        assert sent < 10000, "the server answers them all"
    assert [code for _, code in attack.goaways] == [CALM]


def test_empty_data_flood_ends_the_connection(attack):
    attack.send(headers(1))
    flood(attack, frame(DATA, 0, 1))


def test_frames_of_a_byte_are_accepted_within_memory(attack):
    """A byte per DATA frame is wasteful but valid: the message is accepted, in memory of its own
    size."""
    whole = message(b"\x0a\xfc\xd3\x03" + bytes(59900))
    attack.send(headers(1))
    for at in range(0, len(whole), 1000):
        attack.send(b"".join(frame(DATA, 0, 1, bytes([byte])) for byte in whole[at:at + 1000]))
    attack.send(frame(DATA, END_STREAM, 1))
    assert attack.answer().code == 0


def test_unread_refusals_are_bounded(controller):
    """The peer never acknowledges SETTINGS, so that every stream beyond the hundredth is refused,
    and it reads no RST_STREAM."""
    with harmless(controller), Peer(controller.place) as peer:
        peer.acking = False
        stream = iter(streams())
        sent = 0
        while peer.send(b"".join(headers(next(stream)) for _ in range(500))):
            sent += 500
            assert sent < 200000, "the server takes it all"


def test_unread_answers_are_bounded(controller):
    """Each answer contains the long name of an unknown service."""
    with harmless(controller), Peer(controller.place) as peer:
        stream = iter(streams())
        sent = 0
        while peer.send(b"".join(call(at, fields_of(path=f"/{at:x<140}/y"))
                                 for at in itertools.islice(stream, 500))):
            sent += 500
            assert sent < 200000, "the server takes it all"


def hpack_bomb(stream, refer):
    """Returns a header block whose first field of 4000 bytes enters the table, and is then repeated
    by one byte each."""
    first = b"\x40\1x" + integer(3900, 7) + b"v" * 3900 if not refer else b""
    return frame(HEADERS, END_HEADERS, stream, first + block(fields_of()) +
                 b"\xbe" * (16000 - len(first) - 200))


def test_hpack_bombs_are_refused_cheaply(attack, controller):
    spent = controller.cpu()
    attack.send(hpack_bomb(1, False))
    assert attack.answer(1).code == EXHAUSTED
    for stream, _ in zip(streams(3), range(200)):
        attack.send(hpack_bomb(stream, True))
        assert attack.answer(stream).code == EXHAUSTED
    assert controller.cpu() - spent < 1
    assert attack.ask(stream=1001).code == 0


def test_empty_field_names_end_the_connection(attack):
    assert not each(attack, lambda stream: headers(stream, fields_of() + [("", "")] * 100), 5000)


def test_long_settings_end_the_connection(attack):
    attack.send(frame(SETTINGS, 0, 0, setting(0xf0, 1) * 1000))
    assert attack.drained()
    assert [code for _, code in attack.goaways] == [CALM]


def test_a_huge_header_table_is_harmless(attack):
    attack.send(frame(SETTINGS, 0, 0, setting(1, (1 << 32) - 1)))
    for stream, _ in zip(streams(), range(500)):
        assert attack.ask(fields_of(path=f"/nobody/{stream}"), stream=stream).code == UNIMPLEMENTED


def test_answers_wait_for_a_zero_window(attack):
    """A hundred answers wait for a window that is zero."""
    attack.send(frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 0)))
    attack.send(b"".join(call(stream) for stream, _ in zip(streams(), range(100))))
    attack.send(frame(PING, 0, 0, bytes(8)))
    assert attack.until(lambda: attack.pongs)
    assert all(not answer.body for answer in attack.answers.values())


def test_a_window_of_one_byte_is_kept(attack):
    """A hundred answers are sent one byte at a time."""
    attack.send(frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 1)))
    ours = range(1, 200, 2)
    attack.send(b"".join(call(stream) for stream in ours))
    for n in range(1, 9):
        assert attack.until(lambda n=n: [len(attack.answers[stream].body) for stream in ours
                                         if stream in attack.answers] == [n] * 100)
        attack.send(b"".join(frame(WINDOW_UPDATE, 0, stream, number(1)) for stream in ours))
    assert [attack.answer(stream).code for stream in ours] == [0] * 100


def test_window_changes_end_the_connection(attack):
    """INITIAL_WINDOW_SIZE changes to and fro while streams are open; each change affects all of
    them."""
    attack.send(b"".join(headers(stream) for stream, _ in zip(streams(), range(100))))
    change = frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 1)) + \
        frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 100000))
    flood(attack, change)


def name_field(size):
    """Returns a field whose length is encoded in four groups of seven bits."""
    length = [size >> bits & 127 | 128 * (bits < 21) for bits in range(0, 28, 7)]
    return b"\x0a" + bytes(length) + b"n" * size


@pytest.mark.parametrize("count, name", [(2097000, 100), (131000, 0), (200000, 3700000)],
                         ids=["both", "by size", "in all"])
def test_decoded_memory_is_bounded(attack, count, name):
    """Empty submessages of two bytes become structs; 2097000 of them need 200 MB. The limits are 16
    MB for any message, and 3 MB for one of 262 KB."""
    attack.send(headers(1, fields_of(path="/csi.v1.Controller/CreateVolume")))
    attack.upload(message(b"\x1a\0" * count + name_field(name)))
    assert attack.answer().code == EXHAUSTED


@pytest.mark.parametrize("seed", range(8))
def test_random_bytes_are_harmless(controller, seed):
    """Random bytes, and valid frames with some bytes changed."""
    random = Random(seed)
    with harmless(controller):
        for _ in range(150):
            good = bytearray(call(1) + frame(PING, 0, 0, bytes(8)) + call(3) + headers(5) +
                             frame(RST_STREAM, 0, 5, number(CANCEL)) + call(7))
            for _ in range(random.randrange(1, 6)):
                good[random.randrange(len(good))] = random.randrange(256)
            if seed == 0:
                good = bytearray(os.urandom(300))
            with Peer(controller.place, PREFACE + frame(SETTINGS) + bytes(good)) as peer:
                assert peer.until(lambda peer=peer: peer.settings)


def test_log_is_rate_limited(tmp_path, place):
    """A failed call is logged, but at most a thousand in ten seconds; one more line counts the
    rest."""
    controller = Controller(tmp_path, place=place(tmp_path), log_level="info")
    began = time.monotonic()
    with harmless(controller), contextlib.ExitStack() as stack:
        for _ in range(5):
            peer = stack.enter_context(Peer(controller.place))
            for first in range(1, 801, 200):
                together = range(first, first + 200, 2)
                peer.send(b"".join(call(stream, fields_of(path="/nobody/x"))
                                   for stream in together))
                assert all(peer.answer(stream).code == UNIMPLEMENTED for stream in together)
    periods = 1 + int((time.monotonic() - began) // 10)
    assert controller.stop() == 0
    lines = (tmp_path / "log").read_text().splitlines()
    logged = sum("UNIMPLEMENTED" in line for line in lines)
    more = sum("log of failed calls is rate-limited" in line for line in lines)
    assert 1000 <= logged <= 1000 * periods and more <= periods
    assert (more > 0) == (logged < 2000)
