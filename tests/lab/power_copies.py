# SPDX-License-Identifier: MPL-2.0
"""The steps around two power cuts, in a virtual machine whose disks are kept. It has two hosts,
each with a pool of its own. `push` writes records to a volume of n1, and pushes them to n2, until
the machine is killed. `take` checks them, and has n2 take the volume over, until the machine is
killed again. `end` checks that one host has the volume, with all records.

A step prints what was acknowledged: "written N" when fsync has returned for record N, "pushed N"
when `zcsi sync` has answered OK and began after that, "taken over" when `zcsi failover` has. The
arguments of a step are what the steps before it printed last: its records N, and those pushed."""
import contextlib
import itertools
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path

E2E = Path(__file__).resolve().parent.parent / "e2e"
sys.path[:0] = [str(E2E), str(E2E / "openzfs")]

import grpc  # noqa: E402

from client import MIB  # noqa: E402
from copies import create, Pair  # noqa: E402
from daemon import wait_for  # noqa: E402
from host import get, Host, run, Volume  # noqa: E402

DISK, PART = "/dev/vdd", 4 << 30
BEGINS, DONE = "the failover begins", "taken over"
RECORDS, FILLING = "records", "filling"


def device(number):
    """Return a device for the pool of this host: a part of the disk."""
    return run("losetup", "--show", "--find", "--offset", str(number * PART),
               "--sizelimit", str(PART), DISK).strip()


@contextlib.contextmanager
def hosts():
    """The two hosts as a Pair, whose pools are created, or imported after a cut."""
    run("modprobe", "loop")
    run("udevadm", "settle")
    for number in (0, 1):
        name, disk = f"power{number + 1}", device(number)
        if STEP == "push":
            run("zpool", "create", "-f", "-O", "mountpoint=none", name, disk)
        else:
            run("zpool", "import", "-f", "-d", disk, name)
    with contextlib.ExitStack() as stack:
        file = Path(stack.enter_context(tempfile.TemporaryDirectory()), "agents")
        both = [stack.enter_context(contextlib.closing(
                    Host(f"power{number}", node_id=f"n{number}",
                         node_args=("--agents-file", str(file))))) for number in (1, 2)]
        file.write_text("".join(f"unix://{host.agent_socket}\n" for host in both))
        both[0].controller_daemon.argv += ["--agent", f"unix://{both[1].agent_socket}"]
        yield Pair(both)


def used(host):
    """Publish the volume on its host as an orchestrator does, which repeats its calls until the
    nodes have confirmed the owner to each other."""
    volume = Volume(host, "data", size=64 * MIB)

    def attempt():
        try:
            for step in (volume.attach, volume.stage, volume.publish):
                step()
            return True
        except grpc.RpcError as error:
            assert error.code() in (grpc.StatusCode.UNAVAILABLE,
                                    grpc.StatusCode.FAILED_PRECONDITION), error
            return False
    wait_for(attempt, f"the volume is published on {host.node_id}", 60)
    return volume


def append(volume, number):
    """Write a record, and a MiB that the next push has to send, and acknowledge it."""
    for name, mode, data in ((FILLING, "r+b" if number > 1 else "wb", os.urandom(MIB)),
                             (RECORDS, "ab", b"%d\n" % number)):
        with open(Path(volume.target, name), mode) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    print(f"written {number}", flush=True)


def records(folder):
    """Return how many records there are; check that none before the last is missing."""
    found = Path(folder, RECORDS).read_text(encoding="ascii").split("\n")[:-1]
    assert found == [str(number) for number in range(1, len(found) + 1)], found
    return len(found)


def pushed(pair, number):
    pair.zcsi("sync", "data")
    print(f"pushed {number}", flush=True)


def push():
    with hosts() as pair:
        create(Volume(pair.owner, "data", size=64 * MIB), {"replicas": "2"})
        volume = used(pair.owner)
        latest = itertools.count(1)
        append(volume, next(latest))
        pair.sync()
        written = [1]

        def push_on():
            while True:
                pushed(pair, written[0])
        threading.Thread(target=push_on, daemon=True).start()
        for number in latest:
            append(volume, number)
            written[0] = number


def records_of_copy(pair):
    """Return how many records the newest snapshot of the copy has."""
    name = pair.replica()
    newest = run("zfs", "list", "-Hd1", "-t", "snapshot", "-o", "name", "-S", "createtxg",
                 name).split()[0]
    with tempfile.TemporaryDirectory() as folder:
        run("mount", "-t", "zfs", newest, folder)
        try:
            return records(folder)
        finally:
            run("umount", folder)


def booted():
    return "boot=" + Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def take(at_least, sent):
    with hosts() as pair:
        volume = used(pair.owner)
        have = records(volume.target)
        assert have >= at_least
        assert get(pair.owner.dataset("data"), "zcsi:owner") == booted()
        assert sent <= records_of_copy(pair) <= have
        append(volume, have + 1)
        pushed(pair, have + 1)
        pair.owner.node_daemon.kill()
        print(BEGINS, flush=True)
        pair.zcsi("failover", "data", "--lost", "n1", "--accept-loss", "1h")
        print(DONE, flush=True)
        signal.pause()


def owners(pair):
    return [host for host in pair.hosts if "data" in host.leaves()]


def end(at_least, sent, done):
    """An operator repeats a command that was not seen to end."""
    assert at_least == sent
    with hosts() as pair:
        def typed_again():
            said = pair.run("failover", "data", "--lost", "n1", "--accept-loss", "1h")
            return not said.returncode or "has it" in said.stdout
        if not done:
            wait_for(typed_again, "there is an owner", 120)
        wait_for(lambda: len(owners(pair)) == 1, "one host has the volume", 120)
        [owner] = owners(pair)
        assert owner is pair.other or not done
        owner.controller = pair.owner.controller
        volume = used(owner)
        assert records(volume.target) == at_least
        append(volume, at_least + 1)
        wait_for(lambda: not pair.run("sync", "data").returncode, "the copy is complete", 120)
        wait_for(pair.settled, "the copy is up to date", 120)
        print(f"{owner.node_id} has the volume, with all records")
        volume.down()


if __name__ == "__main__":
    STEP = sys.argv[1]
    {"push": push, "take": take, "end": end}[STEP](*map(int, sys.argv[2:]))
