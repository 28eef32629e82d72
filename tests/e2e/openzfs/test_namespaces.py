# SPDX-License-Identifier: MPL-2.0
"""Checks of the hosts in namespaces that the other tests use."""
import os
import subprocess

from daemon import wait_for
from host import mounts

CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], 1), timeout=5)"


def reaches(one, other):
    """True if one host reaches the other, which then refuses the connection: no server listens."""
    argv = [*one.namespaces.prefix, "python3", "-c", CONNECT, other.namespaces.address]
    return "ConnectionRefused" in subprocess.run(argv, capture_output=True, text=True).stderr


def test_a_controller_has_the_agents_of_all_the_hosts(new_hosts):
    one, two, three = new_hosts(3)
    two.start_node()
    three.start_node()
    one.start()
    assert one.ids() == []
    nets = {os.readlink(f"/proc/{host.node_daemon.process.pid}/ns/net") for host in
            (one, two, three)}
    assert len(nets) == 3
    assert len({host.agent.GetHost().pool_guid for host in (one, two, three)}) == 3


def test_hosts_reach_each_other_until_one_is_unplugged(new_hosts):
    one, two = new_hosts(2)
    assert reaches(one, two) and reaches(two, one)
    two.namespaces.unplug()
    assert not reaches(one, two)
    two.namespaces.plug()
    wait_for(lambda: reaches(one, two), "the network is back")


def test_mounts_of_a_host_are_visible_only_below_tmp(new_hosts):
    one, two = new_hosts(2)
    seen = f"{two.folder}/mount"
    os.mkdir(seen)
    for point in (seen, "/mnt"):
        two.namespaces.run("mount", "-t", "tmpfs", "t", point)
    assert "/mnt" in two.namespaces.mounts()
    assert "/mnt" not in one.namespaces.mounts() and not mounts("/mnt")
    assert mounts(seen)
    two.namespaces.run("umount", "/mnt")
