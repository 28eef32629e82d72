# SPDX-License-Identifier: MPL-2.0
"""Volumes are created, registered, listed and deleted."""
import os
import signal
import subprocess
from urllib.parse import quote

import pytest

from client import MIB
from daemon import BUILD
from host import datasets, get, run
from nomad import (
    NOBODY, Refused, accepted, api, command, nomad, processes, told, until, volume, volume_create,
    volume_delete)


def test_a_created_volume_is_a_dataset(zcsi, create):
    text = create("new", capacity_min="16MiB", parameters={"zfs.compression": "on"})
    assert "Created external volume new with ID new" in text
    assert get(f"{zcsi}/new", "refquota") == str(16 * MIB)
    assert get(f"{zcsi}/new", "compression") == "on"


def test_a_volume_is_mounted_with_its_flags(create, consumer):
    create("new", flags=["noatime", "noexec"])
    user = consumer("user", "new").started()
    options = next(line.split()[3] for line in user.busybox("cat", "/proc/mounts").splitlines()
                   if line.split()[1] == "/data")
    assert {"noatime", "noexec"} <= set(options.split(","))


def test_volume_status_has_capacity_and_topology(create):
    create("new", capacity_min="16MiB")
    assert volume("new")["Capacity"] == 16 * MIB
    assert volume("new")["Schedulable"]
    assert "zcsi.zfs/node=n1" in nomad("volume", "status", "-verbose", "new")


def page(token=""):
    """Return the ids of two volumes as the controller lists them, and the token of the next
    page."""
    found = api(f"volumes/external?plugin_id=zcsi&per_page=2&next_token={quote(token)}")
    return [each["ExternalID"] for each in found["Volumes"]], found["NextToken"]


def test_volumes_are_listed_in_pages(create):
    names = ["one", "three", "two"]
    for name in names:
        create(name)
    first, token = page()
    rest, end = page(token)
    assert sorted(first + rest) == names
    assert len(first) == 2 and not end
    listed = nomad("volume", "status", "-type", "csi", "-verbose").split("External ID")[1]
    assert sorted(line.split()[0] for line in listed.splitlines()[1:]) == names


def test_creating_a_volume_again_keeps_it(zcsi, create):
    create("new", capacity_min="16MiB")
    before = get(f"{zcsi}/new", "guid")
    create("new", capacity_min="16MiB")
    assert get(f"{zcsi}/new", "guid") == before


def test_a_volume_that_nomad_forgot_is_registered(create, consumer):
    create("known", capacity_min="16MiB")
    writer = consumer("writer", "known").started()
    writer.write("words", "kept")
    writer.stop()
    volume_delete("known", "deregister")
    assert volume("known") is None
    create("known", command="register", external_id="known")
    assert consumer("reader", "known").started().read("words") == "kept"


def test_a_volume_made_with_csc_is_registered(create, consumer):
    controller, = processes("zcsi-controller")
    command(BUILD / "conformance/csc", "-e", told(controller, "CSI_ENDPOINT"), "controller",
            "create-volume", "made", "--req-bytes", 16 * MIB,
            "--cap", "SINGLE_NODE_WRITER,mount,zfs", "--params", f"owner={NOBODY}")
    create("made", command="register", external_id="made")
    assert volume("made")["Schedulable"]
    consumer("user", "made").started().write("words", "new")


def test_a_dataset_of_another_tool_becomes_a_volume(zcsi, create, consumer, tmp_path):
    """The steps are those of jobs/README.md."""
    other = f"{zcsi.split('/')[0]}/acme"
    run("zfs", "create", "-o", f"mountpoint={tmp_path}/acme", other)
    (tmp_path / "acme/words").write_text("of old")
    run("zfs", "unmount", other)
    until(lambda: subprocess.run(["zfs", "rename", other, f"{zcsi}/acme"]).returncode == 0,
          "zfs-fuse has let go of it")
    for word in ("canmount=noauto", "mountpoint=legacy", "refquota=16M", "zcsi:version=1",
                 "zcsi:volume=acme"):
        run("zfs", "set", word, f"{zcsi}/acme")
    os.kill(*processes("zcsi-node"), signal.SIGHUP)
    accepted(create, "acme", command="register", external_id="acme")
    assert consumer("reader", "acme").started().read("words") == "of old"


def test_a_missing_volume_is_not_registered(zcsi):
    with pytest.raises(Refused, match="volume 'nothing' does not exist"):
        volume_create("nothing", command="register", external_id="nothing")
    assert volume("nothing") is None


def test_a_volume_in_use_is_not_deleted(zcsi, create, consumer):
    create("busy", capacity_min="16MiB")
    user = consumer("user", "busy").started()
    user.write("words", "kept")
    with pytest.raises(Refused, match="it is attached to node 'n1'"):
        nomad("volume", "delete", "busy")
    assert user.read("words") == "kept"
    user.stop()
    volume_delete("busy")
    assert f"{zcsi}/busy" not in datasets(zcsi)
    assert volume("busy") is None
