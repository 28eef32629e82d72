# SPDX-License-Identifier: MPL-2.0
"""`zcsi trash empty`: deleted volumes are destroyed before their time, and no others."""
import subprocess

import pytest

from daemon import BUILD, wait_for
from host import run, Volume
from snapshots import drop, in_zfs, restore, take, trashed
from test_cli import rows, zcsi


@pytest.fixture
def host(new_host):
    """A host that keeps deleted volumes for more than a day."""
    return new_host(node_args=["--trash-ttl", "100000"]).start()


def empty(host, *words, status=0):
    """Run `zcsi trash empty`. Return its rows by volume as (state, why), and its stderr."""
    done = subprocess.run([BUILD / "zcsi", "--agent", f"unix://{host.agent_socket}", "-H", "trash",
                           "empty", *words], capture_output=True, text=True, check=False)
    assert done.returncode == status, done
    return {row[0]: (row[5], row[6]) for row in rows(done.stdout)}, done.stderr


def deleted(host, *names):
    for name in names:
        volume = Volume(host, name)
        volume.create()
        volume.delete()


def test_nothing_is_destroyed_before_its_number_is_typed(host):
    deleted(host, "one", "two")
    printed, said = empty(host, status=3)
    assert printed == {"one": ("to be destroyed", "-"), "two": ("to be destroyed", "-")}
    assert said == ("zcsi: nothing was done; to destroy them for good, run "
                    "'zcsi trash empty --destroy 2'\n")
    assert empty(host, "--dry-run", "--destroy", "2") == (printed, "")
    assert "there are 2 deleted volumes, not 1" in empty(host, "--destroy", "1", status=1)[1]
    assert "is not a number" in empty(host, "--destroy", "all", status=1)[1]
    assert len(trashed(host)) == 2
    done = ("destroyed", "-")
    assert empty(host, "--destroy", "2") == ({"one": done, "two": done}, "")
    assert host.leaves() == ["_trash"] and rows(zcsi(host, "trash", "list", "-H")) == []
    assert empty(host) == ({}, "")


def test_a_named_volume_is_destroyed(host, volume):
    volume.create()
    deleted(host, "one", "two")
    assert "'zcsi trash empty one --destroy 1'" in empty(host, "one", status=3)[1]
    assert empty(host, "one", "--destroy", "1")[0] == {"one": ("destroyed", "-")}
    [left] = trashed(host)
    assert left.startswith("two-") and host.ids() == ["data"]


def test_volumes_with_snapshots_stay(host, volume):
    volume.create()
    take(volume)
    volume.delete()
    printed, said = empty(host, "--destroy", "1", status=1)
    state, why = printed["data"]
    assert state == "stays" and "it has 1 snapshots" in why and "zcsi snapshots data" in why
    assert "1 of 1 deleted volumes stay" in said
    drop(host, "data@s")
    assert empty(host, "--destroy", "1")[0] == {"data": ("destroyed", "-")}


def test_the_origin_of_a_clone_stays(host, volume):
    """The snapshot was deleted, so CSI does not list it any more; the clone needs it."""
    volume.create()
    take(volume)
    copy = restore(host, "data@s")
    volume.delete()
    drop(host, "data@s")
    before = in_zfs(host)
    assert empty(host, "--destroy", "1", status=1)[0]["data"][0] == "stays"
    assert in_zfs(host) == before and host.ids() == [copy.id]


def test_mounted_volumes_and_those_with_children_stay(host, tmp_path):
    deleted(host, "one", "two")
    one, two = (host.dataset(f"_trash/{leaf}") for leaf in sorted(trashed(host)))
    run("zfs", "create", "-o", "mountpoint=none", f"{two}/below")
    run("zfs", "set", f"mountpoint={tmp_path}/one", one)
    run("zfs", "mount", one)
    try:
        printed, _ = empty(host, "--destroy", "2", status=1)
        assert f"it is mounted at '{tmp_path}/one'" in printed["one"][1]
        assert "1 datasets are below it" in printed["two"][1]
        assert len(trashed(host)) == 3
    finally:
        run("zfs", "umount", one)


def test_snapshots_of_a_schedule_go_too(host, volume):
    volume.create(parameters={"keep": "daily=2"})
    wait_for(lambda: len(in_zfs(host)) == 1, "the scheduled snapshot is taken")
    volume.delete()
    assert len(in_zfs(host)) == 1
    assert empty(host, "--destroy", "1")[0] == {"data": ("destroyed", "-")}
    assert in_zfs(host) == []
