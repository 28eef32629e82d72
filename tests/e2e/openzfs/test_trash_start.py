# SPDX-License-Identifier: MPL-2.0
"""The trash while the pool is read for the first time, when OpenZFS has shown all volumes, and not
yet their snapshots and what was deleted."""
import grpc

from client import refused
from host import Volume
from snapshots import trashed

CODE = grpc.StatusCode


def test_a_deleted_volume_is_not_missing_at_the_start(new_host, gate):
    """A call waits, and no volume counts as destroyed that is there."""
    host = new_host(node_args=["--trash-ttl", 3600], env=gate.env).start()
    volume = Volume(host, "data")
    volume.create()
    volume.delete()
    [deleted] = host.agent.ListTrash().datasets
    other = Volume(host, "other")
    other.create()
    host.node_daemon.stop()
    gate.hold(" get -rHp ")
    host.node_daemon.start()
    agent = host.node_daemon.client(f"unix:{host.agent_socket}")
    gate.arrived()
    assert [each.id for each in agent.ListDatasets().datasets] == ["other"]
    with refused(CODE.UNAVAILABLE, CODE.DEADLINE_EXCEEDED):
        agent.ListTrash(timeout=2)
    destroyed = agent.DestroyTrashedDataset.future(id="data", guid=deleted.guid)
    with refused(CODE.UNAVAILABLE, CODE.DEADLINE_EXCEEDED):
        agent.RenameDataset(id="other", new_id="new", check=True, timeout=2)
    assert not destroyed.done() and len(trashed(host)) == 1
    gate.open()
    destroyed.result()
    assert trashed(host) == []
