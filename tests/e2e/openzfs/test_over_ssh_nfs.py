# SPDX-License-Identifier: MPL-2.0
"""A pool on a server that has sshd, sudo, ZFS and NFS, but no zcsi: a zcsi-node on another host
manages it as a delegated user, and a second node uses its volumes by NFS."""
import contextlib
import os
import subprocess
import tempfile
from pathlib import Path

import grpc
import pytest

from client import refused
from daemon import BUILD, wait_for
from host import Host, run, Volume
from nfs import EXPORTS, SHARES
from power_cut import power_cut, write_synced
from sshd import Sshd

CODE = grpc.StatusCode
USER = "zcsi"
SUDOERS = Path("/etc/sudoers.d/zcsi")
PERMISSIONS = "create,destroy,rename,mount,snapshot,clone,canmount,mountpoint,refquota,userprop"
MANY = 5  # CSI's MULTI_NODE_MULTI_WRITER
ON_NAS = {"attach": "nfs", "node": "nas"}


@pytest.fixture(scope="module")
def user():
    """A user whose password "*" matches no input. Without a password the account would be locked,
    and sshd admits a locked account only with PAM."""
    run("useradd", "--system", "--create-home", "--password", "*", USER)
    yield USER
    SUDOERS.unlink(missing_ok=True)
    run("userdel", "--remove", USER)


@pytest.fixture
def sshd(namespaces, user):
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="zcsi-ssh-"))
        own = namespaces(1)
        own.plug()
        made = Sshd(folder, address=own.address, prefix=own.prefix)
        stack.callback(made.kill)
        yield made.start()


@pytest.fixture
def nas(new_member, own_pool, server, sshd):
    """The host that manages the server over ssh. Its attribute `two` is the node that uses the
    volumes."""
    with contextlib.ExitStack() as stack:
        two = stack.enter_context(new_member(2))
        nas = stack.enter_context(contextlib.closing(
            Host(own_pool(1), node_id="nas", env=sshd.env, agents=[f"unix://{two.agent_socket}"],
                 node_args=("--zfs-over-ssh", f"{USER}@{sshd.address}", "--rescan", "10"))))
        nas.server, nas.two, nas.over = server.start(), two, f"{USER}@{sshd.address}"
        stack.callback(server.clear)
        run("zfs", "allow", "-u", USER, PERMISSIONS, nas.parent)
        SUDOERS.write_text(
            f"{USER} ALL=(root) NOPASSWD: /usr/sbin/zfs "
            f"^(mount|unmount|set sharenfs=[^ ]+) {nas.parent}/[^ /]+$\n")
        two.start_node()
        nas.start()
        two.controller = nas.controller
        yield nas


def state(nas, name="data"):
    """Return the properties mounted and sharenfs of the volume on the server."""
    return nas.server.run("zfs", "get", "-H", "-o", "value", "mounted,sharenfs",
                          nas.dataset(name)).split()


def exports(nas):
    """Return {client: ro or rw} of the volume's exports."""
    return {client: access for (path, client), access in nas.server.exports().items()
            if path == f"{SHARES}/{nas.dataset('data')}"}


def made(nas, **parameters):
    volume = Volume(nas.two, "data")
    volume.create(parameters={**ON_NAS, **parameters})
    return volume


def up(volume):
    for step in (volume.attach, volume.stage, volume.publish):
        step()
    return Path(volume.target, "file")


def test_a_volume_on_the_server_is_used_by_another_node(nas, sshd):
    volume = made(nas, owner="1000", mode="0750")
    client = nas.two.namespaces.address
    assert state(nas) == ["no", "off"]
    file = up(volume)
    assert volume.context["server"] == sshd.address
    assert state(nas) == ["yes", f"rw={client},sync,no_root_squash"]
    assert exports(nas) == {client: "rw"}
    root = Path(volume.target).stat()
    assert (root.st_uid, root.st_mode & 0o7777) == (1000, 0o750)
    file.write_text("there and back")
    assert (nas.server.file(f"{SHARES}/{nas.dataset('data')}") / "file").read_text() == \
        "there and back"
    volume.expand(2 * volume.size)
    assert nas.server.run("zfs", "get", "-Hp", "-o", "value", "refquota",
                          nas.dataset("data")).strip() == str(2 * volume.size)
    snapshot = nas.controller.CreateSnapshot(source_volume_id="data", name="s").snapshot
    with refused(CODE.FAILED_PRECONDITION, naming="n2"):
        volume.delete()
    volume.down()
    wait_for(lambda: state(nas) == ["no", "off"], "it is not mounted")
    assert exports(nas) == {}
    volume.delete()
    copy = Volume(nas.two, "copy", 2 * volume.size)
    copy.create(parameters=ON_NAS,
                volume_content_source={"snapshot": {"snapshot_id": snapshot.snapshot_id}})
    assert up(copy).read_text() == "there and back"
    copy.down()
    wait_for(lambda: state(nas, "copy") == ["no", "off"], "it is not mounted")
    copy.delete()
    nas.controller.DeleteSnapshot(snapshot_id=snapshot.snapshot_id)
    wait_for(lambda: nas.leaves() in ([], ["_trash"]), "nothing is left")


def test_a_clone_in_use_stays_mounted_when_its_source_is_deleted(nas):
    volume, copy = made(nas), Volume(nas.two, "copy")
    copy.create(parameters=ON_NAS, volume_content_source={"volume": {"volume_id": "data"}})
    file = up(copy)
    volume.delete()
    assert state(nas, "copy")[0] == "yes"
    file.write_text("still there")
    assert (nas.server.file(f"{SHARES}/{nas.dataset('copy')}") / "file").read_text() == \
        "still there"
    copy.down()
    wait_for(lambda: state(nas, "copy") == ["no", "off"], "it is not mounted")
    copy.delete()


def test_each_node_gets_its_own_access(nas):
    made(nas)
    for number, readonly in ((2, False), (3, False), (4, True)):
        nas.agent.PublishDataset(id="data", publication={
            "node_id": f"n{number}", "access_mode": MANY, "readonly": readonly,
            "address": f"10.77.0.{number}"})
    assert state(nas) == ["yes", "rw=10.77.0.2:10.77.0.3,ro=10.77.0.4,sync,no_root_squash"]
    assert exports(nas) == {"10.77.0.2": "rw", "10.77.0.3": "rw", "10.77.0.4": "ro"}
    nas.agent.UnpublishDataset(id="data", node_id="n2")
    assert exports(nas) == {"10.77.0.3": "rw", "10.77.0.4": "ro"}
    nas.agent.UnpublishDataset(id="data")
    assert state(nas) == ["no", "off"]
    assert exports(nas) == {}
    nas.controller.DeleteVolume(volume_id="data")


def test_a_failed_export_is_not_recorded_as_exported(nas):
    volume = made(nas)
    nas.server.run("mount", "-o", "remount,ro", EXPORTS)
    if os.environ["OPENZFS"] == "2.1":
        with refused(CODE.INTERNAL, naming="zfs printed"):
            volume.attach()
        assert state(nas)[1] == "off"
    else:
        volume.attach()  # OpenZFS 2.3 reports success; only the client's mount would fail
    assert exports(nas) == {}
    nas.server.run("mount", "-o", "remount,rw", EXPORTS)
    volume.detach()
    volume.attach()
    assert exports(nas) == {nas.two.namespaces.address: "rw"}
    volume.detach()
    volume.delete()


def forget_exports(nas):
    """Give the server the state that it has after a boot: no exports, no mounts."""
    nas.server.run("exportfs", "-ua")
    nas.server.run("umount", "--lazy", f"{SHARES}/{nas.dataset('data')}")


def as_it_was(nas, was):
    """True if the volume is mounted and exported as before. A zfs left by a killed zcsi-node may
    export it before it is mounted; the kernel's server then does not answer reads for two
    minutes."""
    return state(nas)[0] == "yes" and exports(nas) == was


def test_a_server_that_was_booted_exports_again(nas, sshd):
    volume = made(nas)
    file = up(volume)
    was = exports(nas)
    sshd.kill()
    forget_exports(nas)
    sshd.start()
    wait_for(lambda: as_it_was(nas, was), "it is exported again")
    file.write_text("still mine")
    nas.node_daemon.kill()
    forget_exports(nas)
    nas.restart(nas.node_daemon)
    wait_for(lambda: as_it_was(nas, was), "a zcsi-node that starts sees it")
    assert file.read_text() == "still mine"
    volume.down()
    wait_for(lambda: state(nas) == ["no", "off"], "it is not mounted")
    volume.delete()


def test_only_nfs_volumes_are_created_over_ssh(nas):
    with refused(CODE.RESOURCE_EXHAUSTED, naming=("nas", "attach=nfs")):
        Volume(nas, "data").create(parameters={"node": "nas"})
    with refused(CODE.RESOURCE_EXHAUSTED, naming=("'nas'", "over ssh", "run zcsi-node on")):
        made(nas, replicas="2")
    volume = made(nas)
    with refused(CODE.INVALID_ARGUMENT, naming=USER):
        Volume(nas, "data").attach()
    volume.delete()


def test_without_the_line_in_sudoers_the_refusal_says_so(nas):
    SUDOERS.unlink()
    volume = made(nas)
    with refused(CODE.UNAVAILABLE, naming=("sudo", "sudoers")):
        volume.attach()
    assert exports(nas) == {}
    volume.detach()
    volume.delete()


def test_an_error_of_zfs_over_ssh_is_not_a_lost_connection(nas):
    """OpenZFS 2.3 may exit with status 255, which is also ssh's status for a lost connection."""
    volume = made(nas)
    run("zfs", "unallow", "-u", USER, "refquota", nas.parent)
    with refused(CODE.INTERNAL, naming=("permission denied", "--check")):
        volume.expand(2 * volume.size)
    volume.delete()


def check(nas, words):
    """Return the lines of --check that contain these words."""
    done = subprocess.run(
        [BUILD / "zcsi-node", "--check", "--dataset", nas.parent, "--zfs-over-ssh", nas.over],
        capture_output=True, text=True, env={**os.environ, **nas.node_daemon.env})
    return [line for line in done.stdout.splitlines() if words in line]


def test_check_reports_missing_permissions_of_the_user(nas):
    assert check(nas, "OpenZFS") == ["ok OpenZFS of the kernel"]
    assert {line.split()[0] for line in check(nas, "sudo 'zfs")} == {"ok"}
    assert check(nas, f"zfs allow 'create' to '{USER}'")[0].startswith("ok ")
    run("zfs", "unallow", "-u", USER, "create", nas.parent)
    [line] = check(nas, f"zfs allow 'create' to '{USER}'")
    assert line.startswith("MISSING ") and f"'zfs allow -u {USER} create {nas.parent}'" in line
    SUDOERS.unlink()
    lines = check(nas, "sudo 'zfs")
    assert len(lines) == 3 and all(line.startswith("MISSING ") for line in lines)
    [remedy] = {line.split("'")[-2] for line in lines}
    SUDOERS.write_text(remedy + "\n")
    assert {line.split()[0] for line in check(nas, "sudo 'zfs")} == {"ok"}


def test_a_snapshot_after_a_power_cut_of_the_server_is_complete(nas, pools):
    """The volume is not exported any more, so nothing but the snapshot has it mounted."""
    volume, name = made(nas), nas.dataset("data")
    volume.target = f"{nas.folder}/by-hand"
    os.mkdir(volume.target)
    run("mount", "-t", "zfs", "-o", "zfsutil", name, volume.target)
    write_synced(volume, "before")
    with power_cut(pools, nas):
        write_synced(volume, "late")
    nas.start_node()
    nas.wait_for_agent()
    nas.controller.CreateSnapshot(source_volume_id="data", name="s")
    assert state(nas) == ["no", "off"]
    run("mount", "-t", "zfs", f"{name}@s", volume.target)
    assert sorted(os.listdir(volume.target)) == ["before", "late"]
    run("umount", volume.target)
