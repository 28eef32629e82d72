# SPDX-License-Identifier: MPL-2.0
"""A host volume of Nomad with copies on other nodes."""
from daemon import wait_for
from host import run
from test_failover import lose, take_over
from test_host_volume import HostVolume


def test_a_host_volume_has_a_copy(pair):
    cache = HostVolume(pair.owner, members="n1,n2", sync_every="10s")
    cache.create()
    wait_for(pair.settled, "the copy is complete", 60)
    assert pair.copies() == [(cache.volume, "n1", "n2", "ok")]
    for _ in range(2):  # as at every start of the client
        assert cache.create()["path"] == str(cache.path)


def test_a_host_volume_in_use_is_not_moved(pair):
    cache = HostVolume(pair.owner, members="n1,n2")
    cache.create()
    wait_for(pair.settled, "the copy is complete", 60)
    assert "'n1'" in pair.zcsi("move", cache.volume, "n2", status=1)
    cache.delete()
    wait_for(lambda: f"_replica/{cache.volume}" not in pair.other.leaves(), "it has no copy", 60)


def test_a_host_volume_that_another_node_took_over_is_not_made_again(pair):
    """The lost host returns with a copy, and its client of Nomad asks for the volume."""
    cache = HostVolume(pair.owner, members="n1,n2")
    cache.create()
    inside = pair.owner.namespaces.prefix
    run(*inside, "sh", "-c", f"echo kept >{cache.path}/file")
    pair.sync(cache.volume)
    lose(pair.owner)
    take_over(pair, cache.volume)
    assert cache.volume in pair.other.leaves()
    run(*inside, "umount", cache.path)  # a boot removes all mounts
    pair.owner.start_node()
    wait_for(lambda: f"_replica/{cache.volume}" in pair.owner.leaves(), "the host has a copy", 60)
    # "exist" until zcsi-node has read that it is gone, "have it any more" then
    assert "does not" in cache.refused()
    assert cache.volume not in pair.owner.leaves()
