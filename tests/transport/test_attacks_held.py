# SPDX-License-Identifier: MPL-2.0
"""Attacks by resources that a peer holds: connections, streams, incomplete requests, and answers
that it does not read."""
import contextlib
import multiprocessing
import resource

import pytest

from frames import (CANCEL, DATA, EMPTY, END_STREAM, INITIAL_WINDOW_SIZE, PING, PREFACE,
                    RST_STREAM, SETTINGS, WINDOW_UPDATE, Controller, Peer, Tls, Unix, call,
                    fields_of, frame, headers, message, number, setting, streams, wait_for)
from harmless import GROWTH_KB, harmless

EXHAUSTED = 8
REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"


def test_incomplete_requests_time_out(controller):
    """Thirty connections have a hundred incomplete requests of 2 KB each."""
    with harmless(controller), contextlib.ExitStack() as stack:
        rss = controller.rss()
        peers = [stack.enter_context(Peer(controller.place)) for _ in range(30)]
        for peer in peers:
            assert peer.until(lambda peer=peer: peer.settings)
            peer.send(b"".join(headers(stream) for stream, _ in zip(streams(), range(100))) +
                      frame(PING, 0, 0, bytes(8)))
        for peer in peers:
            assert peer.until(lambda peer=peer: peer.pongs)
        assert controller.rss() - rss < max(GROWTH_KB, 16 << 10)


def test_connections_that_never_begin_are_closed(controller):
    """A hundred peers stop within the TLS handshake, or within the preface of HTTP/2."""
    with harmless(controller), contextlib.ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(controller.place.reach()).sendall(controller.place.begun)


def test_handshakes_evict_no_client(controller):
    """More peers connect than the limit allows, and none sends its preface. They only evict each
    other."""
    with Peer(controller.place) as early, contextlib.ExitStack() as stack:
        assert early.ask().code == 0
        for _ in range(300):
            stack.enter_context(controller.place.reach())
        controller.probe()
        assert early.ask(stream=3).code == 0
    wait_for(controller.is_idle, "neither a connection nor a call")


@pytest.mark.parametrize("path, question, flags", [
    ("/grpc.health.v1.Health/Watch", EMPTY, END_STREAM), (REFLECTION, message(b"\x3a\0"), 0)],
    ids=["health", "reflection"])
def test_streams_held_open_are_harmless(controller, path, question, flags):
    """A thousand streams are all answered, and none is ended."""
    with harmless(controller), contextlib.ExitStack() as stack:
        for _ in range(10):
            peer = stack.enter_context(Peer(controller.place))
            assert peer.until(lambda peer=peer: peer.settings)
            peer.send(b"".join(
                headers(stream, fields_of(path)) + frame(DATA, flags, stream, question)
                for stream, _ in zip(streams(), range(100))))
            assert peer.until(lambda peer=peer: len(peer.answers) == 100 and all(
                answer.body for answer in peer.answers.values()))
            assert not any(answer.ended for answer in peer.answers.values())


def test_declared_messages_take_no_memory(controller):
    """A thousand messages declare a length of 4 MiB, and are never sent."""
    with harmless(controller), contextlib.ExitStack() as stack:
        for _ in range(10):
            peer = stack.enter_context(Peer(controller.place))
            peer.until(lambda peer=peer: peer.settings)
            peer.send(b"".join(headers(stream) + frame(DATA, 0, stream, b"\0\0\x40\0\0x")
                               for stream, _ in zip(streams(), range(100))))
            peer.send(frame(PING, 0, 0, bytes(8)))
            assert peer.until(lambda peer=peer: peer.pongs)


def test_half_requests_are_bounded_together(controller):
    """Twenty requests send 1.5 MB each of a declared 4 MiB; beyond 16 MiB in total they are
    refused."""
    with harmless(controller), contextlib.ExitStack() as stack:
        part = frame(DATA, 0, 1, bytes(15000)) * 4
        peers = [stack.enter_context(Peer(controller.place)) for _ in range(20)]
        for peer in peers:
            assert peer.until(lambda peer=peer: peer.settings)
            peer.send(headers(1) + frame(DATA, 0, 1, b"\0\0\x3f\xff\xff"))
            for n in range(1, 26):
                peer.send(part + frame(PING, 0, 0, bytes(8)))
                assert peer.until(lambda peer=peer, n=n: peer.pongs == n)
        codes = [peer.answers[1].code for peer in peers if peer.answers[1].fields]
        assert 5 < len(codes) < 15 and set(codes) == {EXHAUSTED}


def test_cancelled_calls_that_wait_are_not_counted(attack):
    """A hundred calls whose client has cancelled them. Some run, and the others, which waited for
    them, do not count against the limit any more."""
    fields = fields_of("/csi.v1.Controller/CreateVolume")
    mount = b"\x1a\x06\x12\0\x1a\x02\x08\x01"
    attack.send(b"".join(call(stream, fields, message(b"\x0a\x03v%02d" % n + mount)) +
                         frame(RST_STREAM, 0, stream, number(CANCEL))
                         for stream, n in zip(streams(), range(100))))
    assert attack.ask(stream=201).code == 0
    attack.answers.clear()


def test_large_answers_unread_are_bounded(controller):
    """Each answer is a thousand times as large as its request, the windows are wide, and the peer
    does not read."""
    with harmless(controller), Peer(controller.place) as peer:
        assert peer.until(lambda: peer.settings)
        rss = controller.rss()
        peer.send(frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, (1 << 31) - 1)) +
                  frame(WINDOW_UPDATE, 0, 0, number((1 << 31) - 1 - 65535)))
        question = message(b"\x1a\x0fproto/csi.proto")
        for stream, _ in zip(streams(), range(20)):
            peer.send(headers(stream, fields_of(REFLECTION)) +
                      frame(DATA, 0, stream, question * 100))
        controller.probe()
        assert controller.rss() - rss < GROWTH_KB


def test_connections_are_bounded(controller):
    """The limit is 256 connections: the oldest one without a call is closed for a new one, but one
    with a call is kept."""
    controller.probe()
    fds, threads, rss = controller.fds(), controller.threads(), controller.rss()
    with Peer(controller.place) as busy, contextlib.ExitStack() as stack:
        assert busy.until(lambda: busy.settings)
        busy.send(headers(1))
        peers = [stack.enter_context(Peer(controller.place)) for _ in range(300)]
        assert peers[-1].ask().code == 0
        for peer in peers[:300 - 255]:
            assert peer.until(lambda peer=peer: peer.closed)
        assert all(peer.ask().code == 0 for peer in peers[300 - 255:-1])
        busy.send(frame(DATA, END_STREAM, 1, EMPTY))
        assert busy.answer().code == 0
    wait_for(controller.is_idle, "neither a connection nor a call")
    wait_for(lambda: controller.fds() <= fds, "the descriptors again")
    assert controller.threads() == threads
    assert controller.rss() - rss < GROWTH_KB
    controller.probe()


def crowd(place, stream, pipe):
    """Open more connections than the limit allows, each with this stream, until told to end."""
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            peer = stack.enter_context(Peer(place))
            if peer.until(lambda peer=peer: peer.settings):
                peer.send(stream)
        pipe.send("all are there")
        pipe.recv()


@pytest.mark.parametrize("place", [Unix], ids=["unix"], indirect=True)
@pytest.mark.parametrize("stream", [b"", headers(1)], ids=["idle", "busy"])
def test_a_crowd_from_one_process_evicts_only_its_own(own_controller, stream):
    """A client that was there before is idle for longer than any of them, and stays connected."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(
        target=crowd, args=(own_controller.place, stream, theirs), daemon=True)
    with Peer(own_controller.place) as early:
        assert early.ask().code == 0
        process.start()
        assert ours.poll(60)
        assert early.ask(stream=3).code == 0
        own_controller.probe()
        ours.send("end")
    process.join(20)
    assert process.exitcode == 0


def test_the_client_that_was_idle_for_longest_is_evicted(controller):
    """The first of many connections of one process makes calls, so the second is closed."""
    with contextlib.ExitStack() as stack:
        first, second, *others = [stack.enter_context(Peer(controller.place)) for _ in range(256)]
        assert all(peer.until(lambda peer=peer: peer.settings) for peer in (first, second, *others))
        assert first.ask().code == 0
        controller.probe()
        assert second.until(lambda: second.closed)
        assert first.ask(stream=3).code == 0
    wait_for(controller.is_idle, "neither a connection nor a call")


def test_connections_wait_for_descriptors(own_controller):
    """Without a free descriptor, existing connections are served; new ones are served once there
    are descriptors again."""
    own_controller.probe()
    with Peer(own_controller.place) as early, contextlib.ExitStack() as stack:
        assert early.ask().code == 0
        most = own_controller.fds() + 5
        process = own_controller.process.pid
        _, hard = before = resource.prlimit(process, resource.RLIMIT_NOFILE)
        resource.prlimit(process, resource.RLIMIT_NOFILE, (most, hard))
        for _ in range(50):
            stack.enter_context(own_controller.place.reach())
        wait_for(lambda: own_controller.fds() == most, "no descriptor is left")
        assert [early.ask(stream=stream).code for stream in range(3, 203, 2)] == [0] * 100
        resource.prlimit(process, resource.RLIMIT_NOFILE, before)
        own_controller.probe()
    wait_for(own_controller.is_idle, "neither a connection nor a call")


def test_peers_that_vanish_are_found(tmp_path, certificates):
    """The kernel starts keepalive probes after half a minute of silence."""
    controller = Controller(tmp_path, place=Tls(tmp_path, certificates))
    with Peer(controller.place) as peer:
        assert peer.ask().code == 0
        ends = controller.place.port, peer.socket.getsockname()[1]

        def timer():
            """Returns the kind of the timer as in proc_pid_net(5), and its remaining hundredths of
            a second."""
            for line in open("/proc/net/tcp"):
                fields = line.split()
                if [int(field[-4:], 16) for field in fields[1:3] if ":" in field] == list(ends):
                    return [int(field, 16) for field in fields[5].split(":")]
            raise AssertionError("no such connection")

        wait_for(lambda: timer()[0] == 2, "the connection is watched")
        assert timer()[1] <= 3000
    assert controller.stop() == 0


def test_connections_that_come_and_go_leave_nothing(controller):
    with harmless(controller):
        for at in range(800):
            with contextlib.suppress(BrokenPipeError, ConnectionResetError, BlockingIOError):
                with controller.place.connect() as connection:
                    connection.send((PREFACE + frame(SETTINGS) + call(1))[:at % 200])
