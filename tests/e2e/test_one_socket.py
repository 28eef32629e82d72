# SPDX-License-Identifier: MPL-2.0
"""zcsi-controller --node: all services of CSI at one socket, as csi-provisioner --node-deployment
wants them."""
import os
import signal
from pathlib import Path

import grpc
import pytest

from client import refused, topology
from daemon import Daemon, wait_for
from host import SIZE, Volume
from test_start import ends

CODE = grpc.StatusCode


@pytest.fixture(params=["node.sock", "agent.sock"])
def host(request, new_host):
    """A host whose node is called at the socket of the controller, which passes the calls to the
    --endpoint of zcsi-node, or to its agent's."""
    made = new_host()
    made.start_node()
    target = {"node.sock": made.node_daemon.socket, "agent.sock": made.agent_socket}[request.param]
    made.controller_daemon.argv += ["--node", f"unix://{target}"]
    made.start_controller()
    made.node = made.controller
    return made


def test_a_volume_is_made_used_and_deleted_at_one_socket(host):
    volume = Volume(host, "data")
    volume.create(accessibility_requirements=topology("n1"))
    assert host.controller.GetCapacity(accessible_topology=topology("n1").requisite[0])
    for step in (volume.attach, volume.stage, volume.publish):
        step()
    Path(volume.target, "file").write_text("kept")
    stats = host.node.NodeGetVolumeStats(volume_id="data", volume_path=volume.target)
    assert stats.usage[0].total == SIZE
    volume.expand(2 * SIZE)
    volume.down().delete()
    assert "data" not in host.leaves()


def test_answers_of_the_node_are_returned(host):
    info = host.node.NodeGetInfo()
    assert (info.node_id, info.accessible_topology.segments["zcsi.zfs/node"]) == ("n1", "n1")
    with refused(CODE.NOT_FOUND, naming="nothing"):
        host.node.NodeGetVolumeStats(volume_id="nothing", volume_path=host.folder)
    with refused(CODE.INVALID_ARGUMENT, naming="staging_target_path"):
        host.node.NodeUnstageVolume(volume_id="data")


def test_a_node_that_hangs_or_is_down_stops_no_other_call(host):
    host.node_daemon.signal(signal.SIGSTOP)
    hanging = [host.node.NodeStageVolume.future(volume_id="data", staging_target_path="/x",
                                                timeout=60) for _ in range(20)]
    assert host.controller.Probe().ready.value
    host.node_daemon.signal(signal.SIGCONT)
    assert {call.code() for call in hanging} == {CODE.INVALID_ARGUMENT}
    host.node_daemon.kill()
    with refused(CODE.UNAVAILABLE, naming="sock"):
        host.node.NodeGetInfo()
    host.start_node()
    host.node = host.controller
    wait_for(lambda: host.node.NodeGetInfo.future().code() is CODE.OK, "the node answers again")


def test_the_node_service_needs_the_option(new_host):
    made = new_host().start()
    with refused(CODE.UNIMPLEMENTED, naming="csi.v1.Node"):
        made.controller.NodeGetInfo()


def test_a_malformed_endpoint_is_refused(tmp_path):
    daemon = Daemon("zcsi-controller", tmp_path, "--node", "tcp://:1")
    status, text = ends(daemon)
    assert status not in (0, None) and "--node: endpoint 'tcp://:1' names no host" in text
    assert not os.path.exists(daemon.socket)
