# SPDX-License-Identifier: MPL-2.0
"""A volume with follow=anywhere moves to the node where it is published, which needs no copy
before. Afterwards the volume is on as many nodes as it was."""
from client import refused
from copies import create, write
from daemon import wait_for
from host import datasets, get, Volume
from test_follow import attach, attached, down, of, topologies, UNMET, up
from test_move import content, owners


def members(host):
    """Return the nodes in zcsi:members of the volume, which is on this host."""
    value = get(host.dataset("data"), "zcsi:members")
    return set() if value == "-" else set(value.split(":")[2].split(","))


def is_only_at(trio, *hosts):
    """True if these hosts have the volume or a copy of it, and no others have."""
    return [host for host in trio.hosts if any(
        name.endswith("/data") for name in datasets(host.parent))] == list(hosts)


def test_a_volume_follows_anywhere_without_copies(trio):
    create(Volume(trio.owner, "data"), {"follow": "anywhere", "sync_every": "10s"})
    assert topologies(trio) == []
    here, there, third = (of(trio, host) for host in trio.hosts)
    up(here)
    write(here, "one")
    wanted = content(here)
    with refused(UNMET, naming="attached to node 'n1'"):
        attach(there)
    assert members(trio.owner) == set()
    down(here)
    for volume in there, third:
        up(volume)
        assert owners(trio) == [volume.host.node_id] and content(volume) == wanted
        write(volume, volume.host.node_id)
        wanted = content(volume)
        wait_for(lambda at=volume.host: is_only_at(trio, at), "the copy is dropped", seconds=60)
        wait_for(lambda at=volume.host: not members(at), "no other node is a member")
        down(volume)


def test_a_volume_that_follows_anywhere_keeps_its_number_of_copies(trio):
    create(Volume(trio.owner, "data"),
           {"follow": "anywhere", "sync_every": "10s", "members": "n1,n2"})
    here, third = of(trio, trio.owner), of(trio, trio.hosts[2])
    up(here)
    write(here, "one")
    wanted = content(here)
    trio.sync()
    down(here)
    attached(third)
    assert members(third.host) >= {"n2", "n3"}
    wait_for(lambda: is_only_at(trio, *trio.hosts[1:]), "the copy on n1 is dropped", seconds=60)
    wait_for(lambda: members(third.host) == {"n2", "n3"}, "n1 is no member")
    third.stage()
    third.publish()
    assert content(third) == wanted
    down(third)
    wait_for(trio.settled, "no push runs")
