# SPDX-License-Identifier: MPL-2.0
"""Values of properties that look like output of zfs, or that have control characters. A user who
may set a property of one volume harms that volume alone, and it is not reported as missing."""
import signal

import grpc
import pytest

from client import MIB, refused
from crash.cases import claim_name
from daemon import wait_for
from host import get, KERNEL_ZFS, run, Volume

CODE = grpc.StatusCode


def seen(host, condition):
    if not KERNEL_ZFS:
        host.node_daemon.signal(signal.SIGHUP)
    wait_for(condition, "seen")


def row(dataset, volume, **properties):
    """Return lines of `zfs get` that describe a dataset as a volume."""
    values = {"type": "filesystem", "zcsi:version": "1", "zcsi:volume": volume, **properties}
    return "".join(f"{dataset}\t{name}\t{value}\t{'local' if ':' in name else '-'}\n"
                   for name, value in values.items())


def forge(host):
    """Return a value for data's zcsi:source that looks like a volume `ghost`, and like a dataset
    `other` that is no volume of this name."""
    return ("x\tlocal\n" + row(host.dataset("ghost"), "ghost") + row(host.dataset("other"), "none")
            + f"{host.dataset('data')}\tzcsi:source\tx")


@pytest.fixture
def forged(host, volume):
    """The volume `data` with the value of forge(). The host also has a volume `other`."""
    volume.create()
    Volume(host, "other").create()
    host.controller.CreateSnapshot(source_volume_id="data", name="s")
    if KERNEL_ZFS:
        run("zfs", "bookmark", f"{host.dataset('data')}@s", f"{host.dataset('data')}#b")
    run("zfs", "set", f"zcsi:source={forge(host)}", host.dataset("data"))
    seen(host, lambda: host.ids() == ["other"])
    return volume


@pytest.mark.usefixtures("forged")
def test_a_value_invents_no_volume(host):
    assert host.leaves() == ["data", "other"] and host.ids() == ["other"]
    with refused(CODE.NOT_FOUND, naming="ghost"):
        Volume(host, "ghost").record()
    Volume(host, "ghost").create()
    assert host.leaves() == ["data", "ghost", "other"] and host.ids() == ["ghost", "other"]
    for name in ("ghost", "other"):
        Volume(host, name).delete()
    assert host.leaves() == ["data"]


def test_a_volume_with_such_a_value_is_not_reported_as_missing(host, forged):
    snapshot = {"snapshot_id": "data@s"}
    with refused(CODE.UNAVAILABLE, naming="zfs inherit"):
        forged.record()
    assert not host.agent.GetHost(barrier=1).barrier  # not all names are known
    for call in (forged.create, forged.attach, forged.delete,
                 lambda: host.controller.DeleteSnapshot(**snapshot)):
        with refused(CODE.UNAVAILABLE, naming=host.dataset("data")):
            call()
    host.node_daemon.kill()
    host.restart(host.node_daemon)
    with refused(CODE.UNAVAILABLE, naming=host.dataset("data")):
        forged.delete()
    assert host.leaves() == ["data", "other"]
    run("zfs", "inherit", "zcsi:source", host.dataset("data"))
    seen(host, lambda: host.ids() == ["data", "other"])
    assert get(host.dataset("data") + "@s", "type") == "snapshot"
    assert host.agent.GetHost(barrier=1).barrier
    host.controller.DeleteSnapshot(**snapshot)
    forged.delete()
    assert host.leaves() == ["other"]


@pytest.mark.parametrize("value", ["a\tb", "\x1b[2J", "\n"], ids=["tab", "escape", "line"])
def test_a_value_with_a_control_character_hides_the_volume(host, volume, value):
    volume.create()
    run("zfs", "set", f"zcsi:root={value}", host.dataset("data"))
    seen(host, lambda: host.ids() == [])
    with refused(CODE.UNAVAILABLE, naming="control character"):
        volume.create()


def test_a_value_of_the_parent_makes_the_pool_unavailable(host, volume):
    volume.create()
    run("zfs", "set", "zcsi:group=a\nb", host.parent)
    seen(host, lambda: host.parent in host.agent.GetHost().problem)
    for call in (volume.record, volume.delete, Volume(host, "other").create):
        with refused(CODE.UNAVAILABLE, naming="zfs inherit"):
            call()
    run("zfs", "inherit", "zcsi:group", host.parent)
    wait_for(lambda: not host.agent.GetHost().problem, "the pool is read again")
    assert host.ids() == ["data"]


def test_a_value_replaces_no_property_of_what_is_adopted(host):
    """The value that a stream could have brought looks like the guid of another dataset."""
    name = host.dataset("_received/data")
    run("zfs", "create", "-p", name)
    run("zfs", "snapshot", f"{name}@one")
    wanted = {"id": "data", "guid": 7, "size": 8 * MIB, "format": "zfs"}
    claim = claim_name(host.agent, 1)
    run("zfs", "set", "zcsi:root=-\nguid\t7\nzcsi:root\t-", name)
    with refused(CODE.UNAVAILABLE, naming=name):
        host.agent.AdoptDataset(claim=claim, **wanted)
    run("zfs", "inherit", "zcsi:root", name)
    with refused(CODE.FAILED_PRECONDITION, naming="replaced by another"):
        host.agent.AdoptDataset(claim=claim, **wanted)
    host.agent.AdoptDataset(claim=claim, **{**wanted, "guid": int(get(name, "guid"))})
    assert host.ids() == ["data"]


def test_a_change_that_could_not_be_undone_is_refused(host, volume):
    """A change of several properties that fails is undone, which needs their former values."""
    volume.create(parameters={"zfs.user.a:b": "one"})
    name = host.dataset("data")
    run("zfs", "set", "a:b=one\ntwo", name)
    wanted = {"zfs.user.a:b": "three", "zfs.compression": "gzip-9"}

    def change():
        host.controller.ControllerModifyVolume(volume_id="data", mutable_parameters=wanted)
    with refused(CODE.UNAVAILABLE, naming=name):
        change()
    assert get(name, "a:b") == "one\ntwo" and get(name, "compression") != "gzip-9"
    run("zfs", "inherit", "a:b", name)
    change()
    assert get(name, "a:b") == "three" and get(name, "compression") == "gzip-9"
