# SPDX-License-Identifier: MPL-2.0
"""gRPC over HTTP/2 on the wire, rule by rule (gRPC doc/PROTOCOL-HTTP2.md, RFC 9113)."""
import socket
import time
from urllib.parse import unquote

import pytest

from frames import (ACK, CANCEL, COMPRESSION_ERROR, CONTINUATION, DATA, EMPTY, END_HEADERS,
                    END_STREAM, FLOW_CONTROL_ERROR, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE, NO_ERROR,
                    PADDED, PING, PRIORITY, PROBE, PROTOCOL_ERROR, RST_STREAM, SETTINGS,
                    WINDOW_UPDATE, Peer, block, call, fields_of, frame, headers, message, number,
                    setting, wait_for)

OK, INVALID_ARGUMENT, DEADLINE_EXCEEDED, EXHAUSTED, UNIMPLEMENTED, INTERNAL = 0, 3, 4, 8, 12, 13
CREATE = "/csi.v1.Controller/CreateVolume"
READY = message(b"\x0a\x02\x08\x01")


def assert_ok(answer):
    assert (answer.http, answer.code, answer.reset) == ("200", OK, None)
    assert answer.body == READY


def assert_error(answer, code, http="200"):
    """The answer is trailers-only, one HEADERS frame that ends the stream; for an HTTP error it has
    a text."""
    grpc = http == "200"
    assert (answer.http, answer.code, answer.ended) == (http, code, True) and answer.text
    assert len(answer.fields) == (1 if grpc else 2)
    assert answer.body.decode() == ("" if grpc else unquote(answer.text) + "\n")
    assert answer.fields[0]["content-type"].startswith("application/grpc" if grpc else "text/plain")


def test_an_answer_has_a_head_and_trailers(peer):
    answer = peer.ask()
    assert_ok(answer)
    assert answer.fields[0] == {":status": "200", "content-type": "application/grpc"}
    assert answer.fields[1] == {"grpc-status": "0"}


@pytest.mark.parametrize("authority", [
    None, "", "localhost", "/csi/csi.sock", "%2Fcsi%2Fcsi.sock", "a b", "[::1]:9000"])
def test_any_authority_is_accepted(peer, authority):
    assert_ok(peer.ask(fields_of(authority=authority)))


@pytest.mark.parametrize("kind", [
    "application/grpc", "application/grpc+proto", "application/grpc;charset=utf-8"])
def test_grpc_content_types_are_accepted(peer, kind):
    assert_ok(peer.ask(fields_of(content_type=kind)))


@pytest.mark.parametrize("fields", [
    fields_of(te=None), fields_of(more=[("grpc-timeout", "99999999H")]),
    fields_of(more=[("grpc-encoding", "identity")]), fields_of(more=[("x-bin", "AAEC,AA")]),
    fields_of(more=[("x-latin", b"\xe4\xff")]), fields_of(more=[("grpc-unknown", "1")]),
    fields_of(more=[("host", "")]), fields_of(more=[("content-length", "5")]),
    fields_of(scheme="https")])
def test_optional_fields_are_accepted(peer, fields):
    assert_ok(peer.ask(fields))


@pytest.mark.parametrize("fields, http, code", [
    (fields_of(method="GET"), "405", INTERNAL),
    (fields_of(content_type=None), "415", INTERNAL),
    (fields_of(content_type="application/grpcx"), "415", INTERNAL),
    (fields_of(content_type="application/json"), "415", INTERNAL),
    (fields_of(more=[("host", "a"), ("host", "b")]), "400", INTERNAL),
    (fields_of(more=[("grpc-timeout", "soon")]), "400", INTERNAL),
    (fields_of(more=[("grpc-timeout", "123456789S")]), "400", INTERNAL),
    (fields_of(more=[("grpc-timeout", "")]), "400", INTERNAL),
    (fields_of(more=[("grpc-encoding", "gzip")]), "200", UNIMPLEMENTED),
    (fields_of(more=[("grpc-timeout", "0S")]), "200", DEADLINE_EXCEEDED),
    (fields_of(path="/csi.v1.Identity/Nothing"), "200", UNIMPLEMENTED),
    (fields_of(path="/csi.v1.Nobody/Probe"), "200", UNIMPLEMENTED),
    (fields_of(path="/csi.v1.identity/probe"), "200", UNIMPLEMENTED),
    (fields_of(path="/"), "200", UNIMPLEMENTED),
    (fields_of(path="//"), "200", UNIMPLEMENTED),
    (fields_of(path="/" + "x" * 4000), "200", UNIMPLEMENTED)])
def test_wrong_requests_are_refused(peer, fields, http, code):
    assert_error(peer.ask(fields), code, http)
    assert_ok(peer.ask(stream=3))


def test_encodings_are_announced(peer):
    answer = peer.ask(fields_of(more=[("grpc-encoding", "gzip")]))
    assert answer.fields[0]["grpc-accept-encoding"] == "identity"


@pytest.mark.parametrize("fields", [
    fields_of(te="gzip"), fields_of(more=[("connection", "close")]),
    fields_of(more=[("keep-alive", "1")]), fields_of(more=[("transfer-encoding", "chunked")]),
    fields_of(more=[("X-Upper", "1")]), fields_of(more=[("", "no name")]),
    fields_of(more=[("x", "a\nb")]), fields_of(more=[("x", "a\0b")]),
    fields_of(more=[(":late", "1")]), fields_of(more=[(":path", PROBE)]), fields_of(path=""),
    [(":method", "POST"), (":method", "POST")] + fields_of(method=None),
    fields_of(method=None), fields_of(path=None), fields_of(scheme=None),
    fields_of(more=[("content-length", "6")]), fields_of(more=[("content-length", "x")]),
    [(":status", "200")] + fields_of(), [(":status", "100")] + fields_of(),
    [(":status", "103")]])
def test_malformed_requests_are_reset(peer, fields):
    assert peer.ask(fields).reset == PROTOCOL_ERROR
    assert_ok(peer.ask(stream=3))


def test_limits_are_announced(peer):
    """The server announces its limits of streams, a stream's window, a frame and a header list, and
    opens the connection's window."""
    assert peer.until(lambda: peer.settings and peer.window > 65535)
    assert peer.announced == {3: 100, 4: 256 << 10, 5: 16 << 10, 6: 16 << 10}
    assert peer.window == 4 << 20


def test_a_large_header_list_is_refused(peer):
    answer = peer.ask(fields_of(more=[(f"x-{i}", "v" * 1000) for i in range(15)]))
    assert_ok(answer)
    fields = fields_of(more=[(f"x-{i}", "v" * 1000) for i in range(20)])
    coded = block(fields)
    peer.send(frame(HEADERS, 0, 3, coded[:16000]) +
              frame(CONTINUATION, END_HEADERS, 3, coded[16000:]) +
              frame(DATA, END_STREAM, 3, EMPTY))
    assert_error(peer.answer(3), EXHAUSTED)
    assert_ok(peer.ask(stream=5))


def test_a_message_may_come_in_pieces(peer):
    """Each byte of the prefix is in a frame of its own, with empty frames and padding in
    between."""
    peer.send(headers(1))
    for byte in EMPTY:
        peer.send(frame(DATA, 0, 1, bytes([byte])) + frame(DATA, 0, 1) +
                  frame(DATA, PADDED, 1, bytes([3, 0, 0, 0])))
    peer.send(frame(DATA, END_STREAM, 1))
    assert_ok(peer.answer())


def test_padding_is_removed(peer):
    peer.send(headers(1) + frame(DATA, END_STREAM | PADDED, 1, b"\xff" + EMPTY + bytes(255)))
    assert_ok(peer.answer())


def test_frames_may_come_in_pieces(peer):
    for byte in call(1):
        peer.send(bytes([byte]))
    assert_ok(peer.answer())


def test_headers_may_come_in_pieces(peer):
    coded = block(fields_of())
    peer.send(frame(HEADERS, 0, 1, coded[:10]) + frame(CONTINUATION, 0, 1, coded[10:20]) +
              frame(CONTINUATION, END_HEADERS, 1, coded[20:]) + frame(DATA, END_STREAM, 1, EMPTY))
    assert_ok(peer.answer())


def test_many_calls_may_come_in_one_write(peer):
    peer.until(lambda: peer.settings)
    peer.send(b"".join(call(stream) for stream in range(1, 200, 2)))
    for stream in range(1, 200, 2):
        assert_ok(peer.answer(stream))


@pytest.mark.parametrize("body, code", [
    (b"", INTERNAL), (b"\0\0\0", INTERNAL), (message(b"abc")[:-1], INTERNAL),
    (b"\2\0\0\0\0", INTERNAL), (b"\1\0\0\0\0", UNIMPLEMENTED), (EMPTY + EMPTY, INTERNAL),
    (EMPTY + b"\0", INTERNAL), (b"\0\xff\xff\xff\xff", EXHAUSTED),
    (message(b"\xff\xff"), INTERNAL)])
def test_bad_messages_are_refused(peer, body, code):
    assert_error(peer.ask(body=body), code)
    assert_ok(peer.ask(stream=3))


def test_bad_text_is_refused(peer):
    answer = peer.ask(fields_of(path=CREATE), message(b"\x0a\x03a\0b"))
    assert_error(answer, INVALID_ARGUMENT)
    assert "name" in answer.text


def test_an_end_without_a_message_is_an_error(peer):
    peer.send(headers(1, flags=END_STREAM))
    assert_error(peer.answer(), INTERNAL)


def test_large_message_is_refused_before_it_comes(peer):
    """After the answer the server declines the rest of the request with RST_STREAM(NO_ERROR)."""
    peer.send(headers(1) + frame(DATA, 0, 1, b"\0" + number((4 << 20) + 1)))
    assert_error(peer.answer(), EXHAUSTED)
    assert peer.until(lambda: peer.answers[1].reset is not None)
    assert peer.answers[1].reset == NO_ERROR
    peer.send(frame(DATA, END_STREAM, 1, bytes(1000)))
    assert_ok(peer.ask(stream=3))


def test_early_refusal_declines_the_rest(peer):
    peer.send(headers(1, fields_of(path="/csi.v1.Nobody/Probe")))
    assert_error(peer.answer(), UNIMPLEMENTED)
    assert peer.until(lambda: peer.answers[1].reset is not None)
    assert peer.answers[1].reset == NO_ERROR


def test_the_largest_message_is_accepted(peer):
    """A message with an unknown field of 4 MiB is accepted; the windows must open for it."""
    payload = b"\x0a\xfa\xff\xff\x01" + bytes((4 << 20) - 6)
    assert len(payload) == (4 << 20) - 1
    peer.send(headers(1))
    peer.upload(message(payload))
    assert_ok(peer.answer())


def test_trailers_of_a_request_are_accepted(peer):
    peer.send(headers(1) + frame(DATA, 0, 1, EMPTY) +
              headers(1, [("x-checksum", "1")], END_STREAM))
    assert_ok(peer.answer())


@pytest.mark.parametrize("trailers", [
    headers(1, [("x", "1")]), headers(1, [(":path", "/")], END_STREAM),
    headers(1, [("X", "1")], END_STREAM)])
def test_bad_trailers_are_reset(peer, trailers):
    peer.send(headers(1) + frame(DATA, 0, 1, EMPTY) + trailers)
    assert peer.answer().reset == PROTOCOL_ERROR


def test_a_cancelled_call_is_not_answered(peer):
    peer.send(headers(1) + frame(RST_STREAM, 0, 1, number(CANCEL)))
    assert_ok(peer.ask(stream=3))
    assert 1 not in peer.answers


def test_ping_and_settings_are_answered(peer):
    peer.send(frame(PING, 0, 0, b"12345678") + frame(SETTINGS, 0, 0, setting(1, 0)))
    assert peer.until(lambda: peer.pongs == 1 and peer.acked == 2)


def test_unknown_frames_and_settings_are_ignored(peer):
    peer.send(frame(0xee, 0xff, 0, b"?") + frame(0xee, 0, 1, b"?") +
              frame(SETTINGS, 0, 0, setting(0xfff, 1)) + frame(PRIORITY, 0, 1, bytes(5)))
    assert_ok(peer.ask())


def test_the_answer_keeps_to_a_small_window(peer):
    """The answer is sent byte by byte, as the window allows."""
    peer.send(frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 0)) + call(1))
    assert peer.until(lambda: peer.acked == 2 and 1 in peer.answers)
    for n in range(len(READY)):
        assert peer.answers[1].body == READY[:n]
        peer.send(frame(WINDOW_UPDATE, 0, 1, number(1)))
        assert peer.until(lambda: len(peer.answers[1].body) > n)
    assert_ok(peer.answer())


@pytest.mark.parametrize("bytes_, error", [
    (frame(DATA, 0, 0, b"x"), PROTOCOL_ERROR), (frame(DATA, 0, 1, b"x"), PROTOCOL_ERROR),
    (headers(2), PROTOCOL_ERROR),
    (frame(RST_STREAM, 0, 1, number(CANCEL)), PROTOCOL_ERROR),
    (frame(CONTINUATION, END_HEADERS, 1), PROTOCOL_ERROR),
    (headers(1) + frame(DATA, PADDED, 1, b"\x08abc"), PROTOCOL_ERROR),
    (frame(HEADERS, 0, 1) + frame(PING, 0, 0, bytes(8)), PROTOCOL_ERROR),
    (frame(HEADERS, END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff"), COMPRESSION_ERROR),
    # field 70 of a table with 61 fields
    (frame(HEADERS, END_HEADERS, 1, b"\xc6"), COMPRESSION_ERROR),
    # the same as the name of a field
    (frame(HEADERS, END_HEADERS, 1, b"\x7f\x07\x01v"), COMPRESSION_ERROR),
    (frame(WINDOW_UPDATE, 0, 0, number((1 << 31) - 1)), FLOW_CONTROL_ERROR),
    (frame(WINDOW_UPDATE, 0, 0, number(0)), PROTOCOL_ERROR),
    (frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 1 << 31)), FLOW_CONTROL_ERROR),
    (frame(SETTINGS, ACK, 0, setting(1, 1)), 6), (frame(PING, 0, 0, b"short"), 6),
    (frame(0xee, 0, 0, bytes((16 << 10) + 1)), 6)])
def test_broken_connections_end(peer, bytes_, error):
    peer.until(lambda: peer.settings)
    peer.send(bytes_)
    assert peer.drained()
    assert [code for _, code in peer.goaways] == [error]


def test_goaway_reaches_a_peer_that_keeps_sending(peer):
    """A socket that is closed before all data is read sends RST, by which the GOAWAY could be
    lost."""
    peer.until(lambda: peer.settings)
    assert peer.send(frame(PING, 0, 1, bytes(8)) + frame(DATA, 0, 1, bytes(16000)) * 120)
    assert peer.drained()
    assert [code for _, code in peer.goaways] == [PROTOCOL_ERROR]


def test_peer_that_does_not_close_is_closed(controller):
    with Peer(controller.place) as peer:
        assert peer.until(lambda: peer.settings)
        peer.send(frame(PING, 0, 1, bytes(8)))
        assert peer.drained()
        wait_for(controller.is_idle, "the connection is over")


@pytest.mark.parametrize("start", [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", bytes(100), b"\xff" * 100])
def test_other_protocols_are_refused(controller, start):
    with Peer(controller.place, start) as peer:
        assert peer.drained()


def test_a_preface_without_settings_ends_the_connection(controller):
    with Peer(controller.place, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + call(1)) as peer:
        assert peer.drained()
        assert 1 not in peer.answers


def test_calls_before_the_goaway_of_the_client_are_finished(peer):
    """Calls begun before the client's GOAWAY are finished, then the server closes the
    connection."""
    peer.send(call(1) + frame(GOAWAY, 0, 0, number(0) + number(NO_ERROR)))
    assert_ok(peer.answer())
    assert peer.drained()


def test_a_stop_finishes_running_calls(own_controller):
    """The server sends two GOAWAYs, serves calls between them, finishes running calls, and exits
    with 0. The running call waits for a silent agent until that closes its connection."""
    with socket.socket(socket.AF_UNIX) as silent_agent, \
            Peer(own_controller.place, patience=10) as peer, \
            Peer(own_controller.place, patience=10) as idle:
        silent_agent.bind(str(own_controller.agent))
        silent_agent.listen()
        assert_ok(idle.ask())
        capability = b"\x12\x00\x1a\x02\x08\x01"
        create = message(b"\x0a\x01v" + b"\x1a" + bytes([len(capability)]) + capability)
        peer.send(call(1, fields_of(path=CREATE, more=[("grpc-timeout", "60S")]), create))
        agent_connection, _ = silent_agent.accept()
        agent_connection.sendall(frame(SETTINGS) + frame(SETTINGS, ACK))
        began = time.monotonic()
        own_controller.process.terminate()
        assert peer.until(lambda: peer.goaways)
        assert peer.goaways[0] == ((1 << 31) - 1, NO_ERROR)
        assert not own_controller.listens()
        peer.send(call(3))
        # After a second the second GOAWAY comes without the answer to the PING.
        in_time = time.monotonic() - began < 1
        assert peer.until(lambda: len(peer.goaways) == 2 or 3 in peer.answers)
        assert peer.until(lambda: peer.pings)
        peer.send(frame(PING, ACK, 0, peer.pings[0]))
        assert peer.until(lambda: len(peer.goaways) == 2)
        served = in_time or peer.goaways[1][0] == 3
        assert peer.goaways[1] == (3 if served else 1, NO_ERROR)
        if served:
            assert_ok(peer.answer(3))
        assert 1 not in peer.answers
        silent_agent.close()
        agent_connection.close()
        assert peer.answer(1).code != OK
        assert peer.drained() and idle.drained()
        assert len(idle.goaways) == 2
        assert own_controller.process.wait(10) == 0


def test_slow_peers_time_out(controller):
    """Slow peers of all kinds at the same time: nothing sent, half a preface, no SETTINGS, half a
    request."""
    began = time.monotonic()
    with Peer(controller.place, b"", 60) as silent, \
            Peer(controller.place, b"PRI * HTTP", 60) as half, \
            Peer(controller.place, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 60) as bare, \
            Peer(controller.place, patience=60) as slow:
        slow.send(headers(1) + frame(DATA, 0, 1, b"\0\0") + headers(3))
        for peer in (silent, half, bare):
            peer.acking = False
            assert peer.drained()
            assert time.monotonic() - began > 4, "not given the time"
        for stream in (1, 3):
            assert_error(slow.answer(stream), DEADLINE_EXCEEDED)
            assert time.monotonic() - began > 8, "not given the time"
        assert_ok(slow.ask(stream=5))
