# SPDX-License-Identifier: MPL-2.0
"""zcsi why and zcsi drain without copies. Copies are tested in openzfs/test_drain.py."""
import json
import subprocess

import pytest

from client import MIB, topology
from daemon import BUILD, wait_for
from host import run, Volume
from snapshots import take
from test_cli import rows, zcsi


def target(host):
    return f"unix://{host.agent_socket}"


def why(host, name, *others, status=0):
    """Return the sentences about a volume, by their effect."""
    text = zcsi(host, "why", name, "-H", agents=[target(other) for other in others], status=status,
                stdout=True)
    found = {"stops": "", "may stop": "", "-": ""}
    for effect, reason in rows(text):
        found[effect] += reason + "\n"
    return found


def drain(host, *words, status=0):
    done = subprocess.run([BUILD / "zcsi", "--agent", target(host), "drain", *words],
                          capture_output=True, text=True, check=False)
    assert done.returncode == status, done
    return done


@pytest.fixture
def pair(new_host, other):
    """Two hosts, and a controller that knows both and soon gives each the names of the other."""
    return new_host(agents=[target(other)], controller_args=("--roll-call", "1")).start(), other


def test_a_volume_without_copies_is_described(host, volume):
    volume.create()
    said = why(host, "data")["-"]
    assert f"it is on node 'n1', as {host.dataset('data')}" in said
    assert "of 8.00M used" in said
    assert "attached to no node" in said
    assert "'zcsi copy add data NODE'" in said
    assert said.endswith("nothing stops it\n")


def test_the_node_of_a_volume_in_use_is_printed(host, volume):
    volume.create()
    volume.attach()
    assert "attached to node 'n1'" in why(host, "data")["-"]


def test_similar_names_of_a_missing_volume_are_printed(host, volume):
    """The host has a volume with a similar name, and a deleted one of this name with a snapshot."""
    volume.create()
    take(volume, "monday")
    volume.delete()
    Volume(host, "date").create()
    said = why(host, "data", status=1)
    assert said["stops"] == "no node that answers has a volume of this name; 'zcsi list' " \
        "prints those that exist\n"
    assert "the trash of node 'n1' has a deleted volume" in said["-"]
    printed = json.loads(zcsi(host, "why", "data", "-o", "json", status=1, stdout=True))
    assert printed["why"][0]["effect"] == "stops" and printed["silent"] == []


def test_both_nodes_of_a_duplicate_are_printed(host, other):
    for each in (host, other):
        each.agent.CreateDataset(id="data", size=8 * MIB)
    said = why(host, "data", other, status=1)
    assert "on node 'n1' and node 'n2'" in said["stops"]
    assert host.dataset("data") in said["-"] and other.dataset("data") in said["-"]


def test_the_node_of_an_unreachable_volume_is_printed(pair):
    """zcsi knows the node of the volume even without a controller, because the other agent keeps
    the names of the silent one."""
    near, far = pair
    Volume(near, "data").create(accessibility_requirements=topology("n2"))
    Volume(near, "own").create(accessibility_requirements=topology("n1"))
    names = set(far.agent.ListNames().hashes)

    def known():
        kept = near.agent.GetKeptNames.future(node_id="n2")
        return not kept.exception() and names <= set(kept.result().hashes)

    wait_for(known, "n1 keeps the names of n2")
    near.controller_daemon.kill()
    assert why(near, "data", far)["stops"] == ""
    assert "it was on node 'n2'" in why(near, "data", status=1)["stops"]
    far.node_daemon.kill()
    said = why(near, "data", far, status=1)["stops"]
    assert "it was on node 'n2'" in said and "start zcsi-node there" in said
    assert "no node that answers has a volume" in why(near, "none", far, status=1)["stops"]
    assert why(near, "own", far)["-"].endswith("nothing stops it\n")


def test_copies_without_pushes_are_reported(host, volume):
    volume.create()
    run("zfs", "set", "zcsi:members=00112233aabbccdd:300:n1,n2", host.dataset("data"))
    host.read_again()
    assert "node 'n2', which has a copy" in why(host, "data", status=3)["may stop"]
    zcsi(host, "pause", "data")
    said = why(host, "data", status=3)
    assert "paused" in said["may stop"] and "'zcsi resume data'" in said["may stop"]
    assert said["-"].endswith("nothing stops it now\n")


def test_drain_reports_volumes_that_stay(host, volume):
    assert drain(host, "n1").stdout == ""
    volume.create()
    volume.attach()
    Volume(host, "free").create()
    for words in (("n1",), ("n1", "--dry-run")):
        done = drain(host, *words, "-H", status=1)
        assert "2 of 2 volumes stay on node 'n1'" in done.stderr
        reasons = {row[0]: row[3] for row in rows(done.stdout)}
        assert "attached to node 'n1'" in reasons["data"] and "no copy" in reasons["data"]
        assert "'zcsi copy add free NODE'" in reasons["free"]
        assert "attached" not in reasons["free"]
    assert "no agent is that of node 'n9'" in drain(host, "n9", status=1).stderr
