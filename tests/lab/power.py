# SPDX-License-Identifier: MPL-2.0
"""The two halves of a power cut, in a machine whose disks outlive it: `before` publishes volumes
of every kind, writes to them and waits for the end; `after`, the orchestrator repeats its calls, at
the same paths and at fresh ones, and nothing that was synced is lost, and nothing is left over."""
import os
import signal
import sys
from pathlib import Path

E2E = Path(__file__).resolve().parent.parent / "e2e"
sys.path[:0] = [str(E2E), str(E2E / "openzfs")]

from daemon import wait_for  # noqa: E402
from host import datasets, get, Host, mounts, run, Volume  # noqa: E402
from zvols import is_device, read, write, zvol  # noqa: E402

POOL, DISK, PLACE = "power", "/dev/vdd", Path("/srv/power")
KEY = "0123456789abcdef" * 4
READY = "everything is published and synced"
ENCRYPTED = {"parameters": {"zfs.encryption": "on"}}
# What each is made of: what a zvol is asked for as, and parameters, or the volume that it clones.
KINDS = {
    "plain": (None, {}),
    "thick": (None, {"parameters": {"provisioning": "thick"}}),
    "encrypted": (None, ENCRYPTED),
    "device": ("block", {}),
    "ext4": ("ext4", {}),
    "encrypted-ext4": ("ext4", ENCRYPTED),
    "clone": (None, "plain"),
    "encrypted-clone": (None, "encrypted"),
    "ext4-clone": ("ext4", "ext4"),
}
CLONED = [source for _, source in KINDS.values() if isinstance(source, str)]


def volumes(host, place):
    """Each with the paths that an orchestrator has for it."""
    for name, (wanted, _) in KINDS.items():
        volume = zvol(host, name, wanted) if wanted else Volume(host, name)
        volume.secrets = {"encryption_key": KEY}
        volume.staging, volume.target = f"{place}/{name}/staging", f"{place}/{name}/target"
        yield volume


def create(volume):
    _, made_of = KINDS[volume.id]
    if isinstance(made_of, dict):
        volume.create(**made_of)
        return
    snapshot = volume.host.controller.CreateSnapshot(source_volume_id=made_of, name=f"s-{made_of}")
    volume.create(volume_content_source={
        "snapshot": {"snapshot_id": snapshot.snapshot.snapshot_id}})


def publish(volume):
    os.makedirs(os.path.dirname(volume.staging), exist_ok=True)
    for step in (volume.attach, volume.stage, volume.publish):
        step()


def note(volume):
    """Where it is written, and what."""
    path = volume.target if is_device(volume.target) else f"{volume.target}/note"
    Path(path).touch()
    return path, f"synced in {volume.id}".encode()


def before():
    run("zpool", "create", "-f", "-O", "mountpoint=none", POOL, DISK)
    host = Host(POOL).start()
    for volume in volumes(host, PLACE):
        create(volume)
        publish(volume)
        write(*note(volume))
    os.sync()
    print(READY, flush=True)
    signal.pause()


def is_back(volume):
    """With its data."""
    publish(volume)
    path, text = note(volume)
    assert read(path, len(text)) == text
    write(path, text)


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
    for name in CLONED:
        host.controller.DeleteSnapshot(snapshot_id=f"{name}@s-{name}")
    wait_for(lambda: set(datasets(host.parent)) <= {f"{host.parent}/_trash"}, "the trash is empty")
    assert mounts("/srv") == []
    host.close()
    print("all came back")


if __name__ == "__main__":
    {"before": before, "after": after}[sys.argv[1]]()
