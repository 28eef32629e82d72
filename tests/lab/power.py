# SPDX-License-Identifier: MPL-2.0
"""The two halves of a power cut, in a machine whose disks outlive it: `before` publishes volumes
of every kind, writes to them and waits for the end; `after`, the orchestrator repeats its calls, at
the same paths and at fresh ones, and nothing that was synced is lost, and nothing is left over."""
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))

from daemon import wait_for  # noqa: E402
from host import datasets, get, Host, mounts, run, Volume  # noqa: E402

POOL, DISK, PLACE = "power", "/dev/vdd", Path("/srv/power")
KEY = "0123456789abcdef" * 4
READY = "everything is published and synced"
# What each is made of: parameters, or the volume of which it is a clone.
KINDS = {
    "plain": {},
    "thick": {"parameters": {"provisioning": "thick"}},
    "encrypted": {"parameters": {"zfs.encryption": "on"}},
    "clone": "plain",
    "encrypted-clone": "encrypted",
}


def volumes(host, place):
    """Each with the paths that an orchestrator has for it."""
    for name in KINDS:
        volume = Volume(host, name)
        volume.secrets = {"encryption_key": KEY}
        volume.staging, volume.target = f"{place}/{name}/staging", f"{place}/{name}/target"
        yield volume


def create(volume):
    kind = KINDS[volume.id]
    if isinstance(kind, dict):
        volume.create(**kind)
        return
    snapshot = volume.host.controller.CreateSnapshot(source_volume_id=kind, name=f"s-{kind}")
    volume.create(volume_content_source={
        "snapshot": {"snapshot_id": snapshot.snapshot.snapshot_id}})


def publish(volume):
    os.makedirs(os.path.dirname(volume.staging), exist_ok=True)
    for step in (volume.attach, volume.stage, volume.publish):
        step()


def before():
    run("zpool", "create", "-f", "-O", "mountpoint=none", POOL, DISK)
    host = Host(POOL).start()
    for volume in volumes(host, PLACE):
        create(volume)
        publish(volume)
        with open(f"{volume.target}/note", "w", encoding="utf-8") as note:
            note.write(f"synced in {volume.id}")
            note.flush()
            os.fsync(note.fileno())
    os.sync()
    print(READY, flush=True)
    signal.pause()


def is_back(volume):
    """With its data."""
    publish(volume)
    note = Path(volume.target, "note")
    assert note.read_text(encoding="utf-8") == f"synced in {volume.id}"
    note.write_text(f"synced in {volume.id}", encoding="utf-8")


def is_closed(host):
    return {get(host.dataset(name), "keystatus") for name in KINDS if "encrypted" in name} == {
        "unavailable"}


def after():
    run("udevadm", "settle")
    run("zpool", "import", "-f", "-d", "/dev", POOL)
    host = Host(POOL).start()
    assert host.ids() == sorted(KINDS)
    assert is_closed(host)
    for place in (PLACE, "/srv/elsewhere"):
        for volume in volumes(host, place):
            is_back(volume)
        for volume in volumes(host, place):
            volume.down()
        assert is_closed(host)
    for volume in reversed(list(volumes(host, PLACE))):
        volume.delete()
    for name in ("plain", "encrypted"):
        host.controller.DeleteSnapshot(snapshot_id=f"{name}@s-{name}")
    wait_for(lambda: set(datasets(host.parent)) <= {f"{host.parent}/_trash"}, "the trash is empty")
    assert mounts("/srv") == []
    host.close()
    print("all came back")


if __name__ == "__main__":
    {"before": before, "after": after}[sys.argv[1]]()
