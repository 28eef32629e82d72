# SPDX-License-Identifier: MPL-2.0
"""`zcsi snapshot mount`: a snapshot is read as files, by restic too, on the host that has it or a
copy of it, and it is not destroyed meanwhile."""
import os
import shutil
import subprocess
import textwrap
from pathlib import Path

import grpc
import pytest

from client import refused, ROOT
from copies import in_use
from daemon import BUILD, wait_for
from host import mounts, run, SIZE
from snapshots import drop, in_zfs, take
from test_cli import zcsi
from zvols import zvol

CODE = grpc.StatusCode


@pytest.fixture
def folder(tmp_path):
    """An empty folder, where nothing is mounted any more after the test."""
    made = tmp_path / "mounted"
    made.mkdir()
    yield made
    subprocess.run(["umount", made], check=False)


@pytest.fixture
def written(volume):
    """A volume that is in use, with a snapshot s of other files than it has now."""
    volume.up()
    target = Path(volume.target)
    (target / "below").mkdir()
    (target / "below" / "random").write_bytes(os.urandom(SIZE // 4))
    (target / "text").write_text("of the snapshot")
    take(volume)
    (target / "text").write_text("of the volume")
    (target / "below" / "random").unlink()
    yield volume
    volume.down()


def tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
            for path in Path(folder).rglob("*")}


@pytest.fixture
def environment(tmp_path):
    """The environment of restic, with its program first in PATH, and a new repository."""
    password = tmp_path / "password"
    password.write_text("secret")
    made = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}",
            "RESTIC_REPOSITORY": str(tmp_path / "repository"),
            "RESTIC_PASSWORD_FILE": str(password), "RESTIC_CACHE_DIR": str(tmp_path / "cache")}
    run("restic", "init", env=made)
    return made


def restored(environment, tmp_path, folder):
    """Return the tree of a folder in the newest backup."""
    target = tmp_path / "restored"
    run("restic", "restore", "latest", "--target", target, env=environment)
    return tree(f"{target}{folder}")


def test_restic_backs_up_a_mounted_snapshot(host, written, folder, environment, tmp_path):
    zcsi(host, "snapshot", "mount", "data@s", str(folder))
    before = tree(folder)
    assert before["text"] == b"of the snapshot" and len(before["below/random"]) == SIZE // 4
    run("restic", "backup", folder, env=environment)
    run("umount", folder)
    assert restored(environment, tmp_path, folder) == before
    assert tree(folder) == {}


def test_the_script_of_the_job_backs_up_a_volume(host, written, environment, tmp_path):
    text = Path(ROOT, "jobs/restic.nomad.hcl").read_text()
    script = textwrap.dedent(text.split("<<-END\n")[1].split("END\n")[0])
    where = {**environment, "ZCSI": "zcsi", "FOLDER": str(tmp_path / "folder"), "VOLUMES": "data",
             "ZCSI_AGENT": f"unix://{host.agent_socket}"}
    run("sh", "-c", script, env=where)
    assert in_zfs(host) == ["data@s"] and mounts(tmp_path) == []
    assert restored(environment, tmp_path, tmp_path / "folder" / "data") == tree(written.target)


def test_a_mounted_snapshot_is_read_only_and_kept_until_the_umount(host, written, folder):
    zcsi(host, "snapshot", "mount", "data@s", str(folder))
    [(_, options)] = mounts(folder)
    assert "ro" in options
    with pytest.raises(OSError):
        (folder / "text").write_text("changed")
    with refused(CODE.FAILED_PRECONDITION, naming=("data@s", str(folder), "umount")):
        drop(host, "data@s")
    assert "umount" in zcsi(host, "snapshot", "data@s", "--drop", status=1)
    assert (folder / "text").read_text() == "of the snapshot"
    run("umount", folder)
    drop(host, "data@s")
    assert in_zfs(host) == []


def test_a_schedule_destroys_a_mounted_snapshot_after_the_umount(host, written, folder):
    """The keeper tries once a minute, and when a schedule is changed."""
    old = "data@2020-01-01T00:00:00Z_yearly"
    run("zfs", "snapshot", host.dataset(old))
    host.read_again()
    zcsi(host, "snapshot", "mount", old, str(folder))
    zcsi(host, "modify", "data", "keep=yearly=1")
    wait_for(lambda: any(line["msg"] == "cannot destroy an old scheduled snapshot"
                         for line in host.node_daemon.log()), "the keeper has tried")
    assert old in in_zfs(host) and (folder / "text").read_text() == "of the volume"
    run("umount", folder)
    zcsi(host, "modify", "data", "keep=yearly=1,monthly=1")
    wait_for(lambda: old not in in_zfs(host), "the old one is gone")


def test_an_impossible_mount_is_refused(host, written, folder, tmp_path):
    def mount(snapshot, where=folder):
        return zcsi(host, "snapshot", "mount", snapshot, str(where), status=1)
    assert "zcsi snapshots" in mount("data@none")
    assert "cannot open the folder" in mount("data@s", tmp_path / "none")
    (folder / "file").touch()
    assert "not empty" in mount("data@s")
    (folder / "file").unlink()
    zcsi(host, "snapshot", "mount", "data@s", str(folder))
    assert "not empty" in mount("data@s")
    device = zvol(host, "device", "block")
    device.create()
    take(device, "d")
    assert "block device" in mount("device@d")
    assert "zcsi snapshot mount SNAPSHOT DIR" in zcsi(host, "snapshot", "a", "b", "c", status=1)
    device.delete()


WITHOUT = """#!/bin/sh
case "$*" in *{pool}/*) echo "cannot open: dataset does not exist" >&2; exit 1;; esac
exec {zfs} "$@"
"""


def test_a_snapshot_of_a_copy_is_mounted_on_its_host(pair, folder, tmp_path):
    """Both hosts are this machine, so a zfs that does not know the owner's pool is the other's."""
    script = tmp_path / "bin" / "zfs"
    script.parent.mkdir()
    script.write_text(WITHOUT.format(pool=pair.owner.parent.split("/")[0], zfs=shutil.which("zfs")))
    script.chmod(0o755)
    elsewhere = {**os.environ, "PATH": f"{script.parent}:{os.environ['PATH']}"}

    def mount():
        return subprocess.run(pair.argv("snapshot", "mount", "data@s", folder), env=elsewhere,
                              capture_output=True, text=True, check=False)
    with in_use(pair) as volume:
        Path(volume.target, "text").write_text("of the snapshot")
        take(volume)
        done = mount()
        assert done.returncode == 1 and "run this on the host of node 'n1'" in done.stderr
        pair.add()
        done = mount()
        assert done.returncode == 0, done
        assert run("findmnt", "-no", "SOURCE", folder).strip() == f"{pair.replica()}@s"
        assert (folder / "text").read_text() == "of the snapshot"
        run("umount", folder)
