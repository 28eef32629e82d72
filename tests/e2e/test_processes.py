# SPDX-License-Identifier: MPL-2.0
"""A change runs one zfs process and a read runs none, according to the agent's own log."""
import pytest

from host import KERNEL_ZFS, SIZE
from processes import during, verbs


@pytest.fixture
def host(new_host):
    """A host on which the timer never triggers a scan during a test. ListNames waits until
    zcsi-node has ended its search for unfinished moves, whose processes would be counted."""
    made = new_host(node_args=["--rescan", "3600"]).start()
    made.agent.ListNames()
    return made


@pytest.fixture
def runs(host):
    """A function that runs step() and returns the argv texts of the agent's processes."""
    return lambda step: during(host.node_daemon, step)


def test_create_runs_one_process_and_its_repeat_none(volume, runs):
    made = runs(volume.create)
    assert len(made) == 1 and "zfs create " in made[0]
    assert runs(volume.create) == []


def test_expand_runs_one_process_and_its_repeat_none(volume, runs):
    volume.create()
    assert len(runs(lambda: volume.expand(2 * SIZE))) == 1
    assert runs(lambda: volume.expand(2 * SIZE)) == []


def test_attach_and_detach_run_one_process_each_and_their_repeats_none(volume, runs):
    volume.create()
    assert len(runs(volume.attach)) == 1
    assert runs(volume.attach) == []
    assert len(runs(volume.detach)) == 1
    assert runs(volume.detach) == []


def test_delete_asks_and_destroys_and_its_repeat_runs_none(volume, runs):
    """The kernel's ZFS checks and destroys in one process."""
    volume.create()
    expected = ["zfs program"] if KERNEL_ZFS else ["zfs get", "zfs destroy"]
    assert verbs(runs(volume.delete)) == expected
    assert runs(volume.delete) == []


def test_repeated_stage_and_publish_run_none(volume, runs):
    volume.up()
    assert runs(volume.stage) == []
    assert runs(volume.publish) == []
    assert runs(volume.unpublish) == []


READS = {
    "probe": lambda host: (host.node.Probe(), host.controller.Probe()),
    "info": lambda host: (host.node.GetPluginInfo(), host.node.NodeGetInfo()),
    "capabilities": lambda host: (
        host.node.GetPluginCapabilities(), host.node.NodeGetCapabilities(),
        host.controller.GetPluginCapabilities(), host.controller.ControllerGetCapabilities()),
    "list": lambda host: host.controller.ListVolumes(),
    "capacity": lambda host: host.controller.GetCapacity(),
    "get": lambda host: (host.agent.GetHost(), host.agent.GetDataset(id="data"),
                         host.agent.ListDatasets()),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_read_runs_none(host, volume, runs, read):
    volume.create()
    assert runs(lambda: read(host)) == []


def test_the_controller_runs_no_process_at_all(host, volume):
    volume.up().down().delete()
    assert host.controller_daemon.runs() == []
