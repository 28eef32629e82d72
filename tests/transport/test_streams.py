# SPDX-License-Identifier: MPL-2.0
"""Streaming calls on the wire, with the controller's reflection and health services."""
import pytest

from frames import (CANCEL, DATA, EMPTY, END_STREAM, INITIAL_WINDOW_SIZE, NO_ERROR, RST_STREAM,
                    SETTINGS, WINDOW_UPDATE, fields_of, frame, headers, message, number, setting)

OK, DEADLINE_EXCEEDED, UNIMPLEMENTED, INTERNAL = 0, 4, 12, 13
REFLECTION = fields_of(path="/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")
WATCH = fields_of(path="/grpc.health.v1.Health/Watch")
NOT_GRPC = fields_of(method="GET")
QUESTION = message(b"\x3a\x00")  # asks for the list of services


def count(peer, stream=1):
    """Returns the number of complete messages received."""
    body = peer.answers[stream].body if stream in peer.answers else b""
    n = 0
    while len(body) >= 5 and len(body) >= 5 + int.from_bytes(body[1:5], "big"):
        body = body[5 + int.from_bytes(body[1:5], "big"):]
        n += 1
    return n


def assert_declined(peer, answer):
    """The server has sent its whole answer, and declines the rest of the request."""
    assert peer.until(lambda: answer.reset is not None)
    assert answer.reset == NO_ERROR


def test_answers_come_before_the_end(peer):
    peer.send(headers(1, REFLECTION))
    for n in range(1, 4):
        peer.send(frame(DATA, 0, 1, QUESTION))
        assert peer.until(lambda n=n: count(peer) == n)
    answer = peer.answers[1]
    assert answer.fields == [{":status": "200", "content-type": "application/grpc"}]
    assert not answer.ended
    peer.send(frame(DATA, END_STREAM, 1))
    assert peer.answer() and answer.fields[1:] == [{"grpc-status": "0"}] and answer.reset is None


def test_frames_are_not_messages(peer):
    """A frame may contain three messages, a part of one, or the end of one and a complete one."""
    peer.send(headers(1, REFLECTION) + frame(DATA, 0, 1, QUESTION * 3))
    assert peer.until(lambda: count(peer) == 3)
    peer.send(b"".join(frame(DATA, 0, 1, bytes([byte])) for byte in QUESTION))
    assert peer.until(lambda: count(peer) == 4)
    peer.send(frame(DATA, 0, 1, QUESTION[:3]))
    peer.send(frame(DATA, END_STREAM, 1, QUESTION[3:] + QUESTION))
    assert peer.answer().code == OK and count(peer) == 6


@pytest.mark.parametrize("fields, body, code", [
    (REFLECTION, b"", OK), (REFLECTION, QUESTION[:-1], INTERNAL),
    (REFLECTION, QUESTION + b"\0", INTERNAL),
    (REFLECTION, QUESTION + b"\1" + bytes(4), UNIMPLEMENTED),
    (REFLECTION, QUESTION + message(b"\xff\xff"), INTERNAL),
    (WATCH, b"", INTERNAL), (WATCH, EMPTY[:-1], INTERNAL), (WATCH, EMPTY + EMPTY, INTERNAL)],
    ids=["none", "cut", "cut prefix", "compressed", "no protobuf", "single: none", "single: cut",
         "single: two"])
def test_broken_messages_end_the_stream(peer, fields, body, code):
    assert peer.ask(fields, body).code == code
    assert peer.ask(REFLECTION, QUESTION, 3).code == OK


def test_a_late_error_is_in_the_trailers(peer):
    """The error is in the trailers, which do not repeat the header list."""
    peer.send(headers(1, REFLECTION) + frame(DATA, 0, 1, QUESTION))
    assert peer.until(lambda: count(peer) == 1)
    peer.send(frame(DATA, 0, 1, b"\2" + bytes(4)))
    answer = peer.answer()
    assert answer.code == INTERNAL
    assert set(answer.fields[1]) == {"grpc-status", "grpc-message"}
    assert_declined(peer, answer)


def test_the_deadline_ends_a_stream(peer):
    peer.send(headers(1, REFLECTION + [("grpc-timeout", "200m")]) + frame(DATA, 0, 1, QUESTION))
    answer = peer.answer()
    assert answer.code == DEADLINE_EXCEEDED and count(peer) == 1
    assert_declined(peer, answer)


def test_trailers_of_a_request_are_accepted(peer):
    peer.send(headers(1, REFLECTION) + frame(DATA, 0, 1, QUESTION) +
              headers(1, [("x-sum", "1")], END_STREAM))
    assert peer.answer().code == OK and count(peer) == 1


def test_a_stream_can_be_cancelled_at_each_stage(peer):
    for stage in range(4):
        stream = 2 * stage + 1
        peer.send(b"".join([headers(stream, REFLECTION), frame(DATA, 0, stream, QUESTION[:4]),
                            frame(DATA, 0, stream, QUESTION[4:]),
                            frame(DATA, END_STREAM, stream)][:stage + 1]))
        peer.send(frame(RST_STREAM, 0, stream, number(CANCEL)))
    assert peer.ask(REFLECTION, QUESTION, 9).code == OK


def test_answers_keep_to_a_small_window(peer):
    """The answers are sent byte by byte as the window opens; trailers need no window."""
    peer.send(frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 0)))
    peer.send(headers(1, REFLECTION) + frame(DATA, END_STREAM, 1, QUESTION * 2))
    for n in range(1, 10):
        peer.send(frame(WINDOW_UPDATE, 0, 1, number(1)))
        assert peer.until(lambda n=n: 1 in peer.answers and len(peer.answers[1].body) == n)
    peer.send(frame(WINDOW_UPDATE, 0, 1, number(1 << 20)))
    assert peer.answer().code == OK and count(peer) == 2


def test_a_request_that_is_not_grpc_is_answered_at_its_end(peer):
    peer.send(headers(1, NOT_GRPC) + frame(DATA, 0, 1, b"x"))
    assert peer.ask(REFLECTION, QUESTION, 3).code == OK and 1 not in peer.answers
    peer.send(frame(DATA, END_STREAM, 1, b"y"))
    answer = peer.answer()
    assert (answer.http, answer.ended, answer.reset) == ("405", True, None)


def test_a_large_body_that_is_not_grpc_is_read(peer):
    """The body is much larger than the windows."""
    window = {0: 65535, 1: 65535}
    take = peer.on_frame

    def on_frame(kind, flags, stream, payload):
        if kind == WINDOW_UPDATE:
            window[stream] += int.from_bytes(payload, "big")
        elif kind == SETTINGS and not flags:
            window[1] += 256 * 1024 - 65535
        take(kind, flags, stream, payload)

    peer.on_frame = on_frame
    assert peer.until(lambda: peer.settings)
    peer.send(headers(1, NOT_GRPC))
    for _ in range(600):
        assert peer.until(lambda: min(window.values()) >= 16000)
        peer.send(frame(DATA, 0, 1, bytes(16000)))
        window = {stream: left - 16000 for stream, left in window.items()}
    peer.send(frame(DATA, END_STREAM, 1))
    assert peer.answer().http == "405"
