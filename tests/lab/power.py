# SPDX-License-Identifier: MPL-2.0
"""The steps before and after a power cut, in a virtual machine whose disks are kept. `before`
publishes volumes of every kind, one of them to a second host, writes to them and waits until the
machine is killed. `after` repeats the orchestrator's calls, at the same paths and at new ones, and
checks that no synced data is lost and nothing is left over."""
import contextlib
import os
import signal
import sys
from pathlib import Path

E2E = Path(__file__).resolve().parent.parent / "e2e"
sys.path[:0] = [str(E2E), str(E2E / "openzfs")]

from client import topology  # noqa: E402
from daemon import wait_for  # noqa: E402
from host import datasets, get, Host, mounts, run, Volume  # noqa: E402
from namespaces import Namespaces, Site  # noqa: E402
from nfs import Server, SHARES  # noqa: E402
from zvols import is_device, read, write, zvol  # noqa: E402

POOL, DISK = "power", "/dev/vdd"
# Mounts that the hosts make below /tmp are visible here, and folders in /tmp survive a reboot.
PLACE, ELSEWHERE = "/tmp/power", "/tmp/elsewhere"
KEY = "0123456789abcdef" * 4
READY = "everything is published and synced"
SHARED = "shared"
ENCRYPTED = {"parameters": {"zfs.encryption": "on"}}
# For each volume: the kind of zvol, or None, and its parameters or the volume that it clones.
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
    SHARED: (None, {"parameters": {"attach": "nfs"}}),
}
CLONED = [source for _, source in KINDS.values() if isinstance(source, str)]


@contextlib.contextmanager
def hosts():
    """Two hosts: the first has the volumes and an NFS server, the second mounts the shared
    volume."""
    with contextlib.ExitStack() as stack:
        def closing(made):
            return stack.enter_context(contextlib.closing(made))
        closing(Site())
        first, second = (closing(Namespaces(number)) for number in (1, 2))
        for each in (first, second):
            each.plug()
        server = closing(Server(first)).start()
        two = closing(Host(POOL, node_id="n2", namespaces=second,
                           node_args=("--address", second.address)))
        one = closing(Host(POOL, node_id="n1", namespaces=first,
                           node_args=("--address", first.address),
                           agents=[f"unix://{two.agent_socket}"]))
        two.start_node()
        one.start()
        two.controller, one.server = one.controller, server
        yield one, two


def volumes(one, two, place):
    """Yield each volume with the staging and target paths that an orchestrator would use."""
    for name, (wanted, _) in KINDS.items():
        host = two if name == SHARED else one
        volume = zvol(host, name, wanted) if wanted else Volume(host, name)
        volume.secrets = {"encryption_key": KEY}
        volume.staging, volume.target = f"{place}/{name}/staging", f"{place}/{name}/target"
        yield volume


def create(volume):
    _, made_of = KINDS[volume.id]
    if isinstance(made_of, dict):
        volume.create(accessibility_requirements=topology("n1"), **made_of)
        return
    snapshot = volume.host.controller.CreateSnapshot(source_volume_id=made_of, name=f"s-{made_of}")
    volume.create(volume_content_source={
        "snapshot": {"snapshot_id": snapshot.snapshot.snapshot_id}})


def publish(volume):
    os.makedirs(os.path.dirname(volume.staging), exist_ok=True)
    for step in (volume.attach, volume.stage, volume.publish):
        step()


def note(volume):
    """Return the path of the volume's data and the bytes to write there."""
    path = volume.target if is_device(volume.target) else f"{volume.target}/note"
    Path(path).touch()
    return path, f"synced in {volume.id}".encode()


def before():
    run("zpool", "create", "-f", "-O", "mountpoint=none", POOL, DISK)
    with hosts() as both:
        for volume in volumes(*both, PLACE):
            create(volume)
            publish(volume)
            write(*note(volume))
        os.sync()
        print(READY, flush=True)
        signal.pause()


def is_back(volume):
    """Publish a volume again and check that its data is there."""
    publish(volume)
    path, text = note(volume)
    assert read(path, len(text)) == text
    write(path, text)


def is_closed(host):
    return {get(host.dataset(name), "keystatus") for name in KINDS if "encrypted" in name} == {
        "unavailable"}


def is_exported(one, two):
    return list(one.server.exports().items()) == [
        ((f"{SHARES}/{one.dataset(SHARED)}", two.namespaces.address), "rw")]


def all_come_back(one, two):
    assert one.ids() == sorted(KINDS)
    assert is_closed(one)
    wait_for(lambda: is_exported(one, two), "what was exported is exported again")
    for place in (PLACE, ELSEWHERE):
        for volume in volumes(one, two, place):
            is_back(volume)
        for volume in volumes(one, two, place):
            volume.down()
        assert is_closed(one)
    for volume in reversed(list(volumes(one, two, PLACE))):
        volume.delete()
    for name in CLONED:
        one.controller.DeleteSnapshot(snapshot_id=f"{name}@s-{name}")
    wait_for(lambda: set(datasets(one.parent)) <= {f"{one.parent}/_trash"}, "the trash is empty")
    assert mounts(PLACE) == mounts(ELSEWHERE) == []


def after():
    run("udevadm", "settle")
    run("zpool", "import", "-f", "-d", "/dev", POOL)
    with hosts() as both:
        all_come_back(*both)
    print("all came back")


if __name__ == "__main__":
    {"before": before, "after": after}[sys.argv[1]]()
