# SPDX-License-Identifier: MPL-2.0
"""`zcsi drain`: the volumes of a node move to nodes with copies of them, and those that stay are
printed with the reason. Also what `zcsi why` prints about copies and moves."""
import contextlib

import pytest

from copies import Pair, create, write
from daemon import wait_for
from host import Volume
from test_move import content, use


@pytest.fixture
def new_trio(new_member, tmp_path):
    """A function that returns a context with a Pair of three hosts. Its argument is the environment
    of the first host's zcsi-node."""
    @contextlib.contextmanager
    def make(env=None):
        file = tmp_path / "agents"
        args = ("--agents-file", str(file))
        with contextlib.ExitStack() as stack:
            hosts = [stack.enter_context(new_member(number, node_args=args,
                                                    env=env if number == 1 else None))
                     for number in (1, 2, 3)]
            hosts[0].controller_daemon.argv += [
                word for other in hosts[1:] for word in ("--agent", f"unix://{other.agent_socket}")]
            file.write_text("".join(f"unix://{host.agent_socket}\n" for host in hosts))
            yield Pair(hosts)
    return make


def drain(trio, *words, status=0):
    """Drain n1 and return the rows of the output: {volume: its other columns}, in their order."""
    done = trio.run("drain", "n1", "-H", *words)
    assert done.returncode == status, done
    return {row[0]: row[1:] for row in (line.split("\t") for line in done.stdout.splitlines())}


def why(pair, name, status=0):
    done = pair.run("why", name, "-H")
    assert done.returncode == status, done
    return done.stdout


def ids(host):
    return sorted(each.id for each in host.agent.ListDatasets().datasets)


def with_copies(trio, name, *nodes):
    create(Volume(trio.owner, name))
    for node in nodes:
        trio.zcsi("copy", "add", name, node)
    if nodes:
        trio.zcsi("sync", name)


def test_a_node_is_drained(new_trio):
    """Four volumes stay at first: one has its only copy on a node that is down, one is in use, one
    has no copy, and one is paused. They move once each obstacle is removed."""
    with new_trio() as trio:
        first, near, far = trio.hosts
        with_copies(trio, "used", "n2")
        with_copies(trio, "bare")
        with_copies(trio, "paused", "n2")
        with_copies(trio, "both", "n2", "n3")
        with_copies(trio, "far", "n3")
        with_copies(trio, "near", "n2")
        used = use(first, Volume(first, "used"))
        write(used, "one")
        wanted = content(used)
        trio.zcsi("pause", "paused")
        far.node_daemon.kill()

        staying = {"used": "attached to node 'n1'", "bare": "'zcsi copy add bare NODE'",
                   "paused": "'zcsi resume paused'", "far": "node 'n3', which has a copy, does not"}
        for words, state in (("--dry-run",), "moves"), ((), "moved"):
            rows = drain(trio, *words, status=1)
            assert {name: row[:2] for name, row in rows.items() if name not in staying} == \
                {"both": ["n2", state], "near": ["n2", state]}
            assert list(rows)[2:] == sorted(staying)
            assert all(reason in rows[name][2] for name, reason in staying.items())
        assert ids(first) == sorted(staying) and ids(near) == ["both", "near"]
        assert content(used) == wanted

        used.down()
        far.restart(far.node_daemon)
        trio.zcsi("resume", "paused")
        wait_for(lambda: not trio.run("copy", "add", "bare", "n3").returncode, "n1 reaches n3", 60)
        for name in staying:
            wait_for(lambda: not trio.run("sync", name).returncode, "its copy is complete", 60)
        assert {name: row[0] for name, row in drain(trio).items()} == \
            {"bare": "n3", "far": "n3", "paused": "n2", "used": "n2"}
        assert ids(first) == [] and drain(trio) == {}
        there = use(near, Volume(near, "used"))
        assert content(there) == wanted
        there.down()


def test_a_drain_that_is_interrupted_goes_on(new_trio, gate):
    """A drain moves two volumes at a time. Their moves go on after the command was killed, and the
    next drain waits for them and moves the rest."""
    with new_trio(env=gate.env) as trio:
        for name in ("a", "b", "c"):
            with_copies(trio, name, "n2")
        wait_for(lambda: trio.settled(3), "no push runs")
        gate.hold("snapshot -o zcsi:moving")
        command = trio.begin("drain", "n1")
        gate.arrived()
        wait_for(lambda: len(trio.owner.agent.ListMoves().moves) == 2, "two volumes move")
        wait_for(lambda: trio.run("why", "a").returncode == 1, "calls for one are refused")
        assert "it is moving from node 'n1' to node 'n2'" in why(trio, "a", status=1)
        command.kill()
        command.wait()
        gate.open()
        assert drain(trio)["c"] == ["n2", "moved", "-"]
        assert ids(trio.other) == ["a", "b", "c"] and ids(trio.owner) == []


def test_why_prints_copies_and_moves(pair):
    """zcsi why describes a complete copy, a copy whose push fails, and a volume on a node that is
    down."""
    create(Volume(pair.owner, "data"))
    pair.add()
    assert "the copy on node 'n2' is complete" in why(pair, "data")
    pair.other.node_daemon.kill()
    assert "n2" in pair.zcsi("sync", "data", status=1)
    said = why(pair, "data", status=3)
    assert "the last push failed at" in said and "run 'zcsi sync data'" in said
    assert "node 'n2', which has a copy: it does not answer" in said
    pair.other.restart(pair.other.node_daemon)
    wait_for(lambda: not pair.run("move", "data", "n2").returncode, "the volume has moved")
    wait_for(pair.settled, "no push runs")
    assert "it is on node 'n2'" in why(pair, "data")
    pair.other.node_daemon.kill()
    said = why(pair, "data", status=1)
    assert "node 'n1' has a copy of it" in said and "'n2'" in said
