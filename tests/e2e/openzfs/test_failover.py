# SPDX-License-Identifier: MPL-2.0
"""A failover: the host of a volume is lost, and a node with a copy takes the volume over. What the
copy did not have is lost to the workload. If the lost host returns, it makes way, and keeps what
only it has."""
import re
import time

import grpc
import pytest

from client import MIB, PATIENCE, refused
from copies import create, in_use, write
from daemon import wait_for
from host import get, run, Volume
from namespaces import MACHINE
from test_copies import KEY
from test_copies_three import have_all
from test_follow import attach, attached, of
from test_move import content, filled, make, owners, use
from zvols import device

SOON = 15  # seconds; a call that waits for a silent host takes half of its timeout, 30


def lose(host):
    """Kill the zcsi-node of a host. What is mounted there stays mounted."""
    host.node_daemon.kill()


def take_over(pair, *words, accept="1h", status=0):
    return pair.zcsi("failover", *words, "--lost", "n1", "--accept-loss", accept, status=status)


def write_late(host, kind="zfs"):
    """Write to the volume on a host whose zcsi-node is dead, as a workload does that goes on."""
    source = host.dataset("data") if kind == "zfs" else device(host)
    run("unshare", "--mount", "--propagation", "private", "sh", "-c",
        f"mount -t {kind} {source} /mnt && echo late >/mnt/late && umount /mnt")


def look(pair, folder):
    """Return the content of what was put aside, looked at as the operating guide says."""
    folder.mkdir()
    said = pair.zcsi("diverged", "mount", "data", folder)
    content = (folder / "late").read_text()
    for line in said.splitlines()[1:]:
        run(*line.split())
    return content


def survivors(pair):
    """Return the node ids of the hosts that have the volume, among those that answer."""
    return [host.node_id for host in pair.hosts
            if host.node_daemon.running() and host.agent.ListDatasets().datasets]


def why(volume):
    """Return why the volume cannot be attached now. The controller asks for the copy in the time
    that is left to it, which may be too short on a slow host."""
    with pytest.raises(grpc.RpcError) as refused_with:
        attach(volume)
    return refused_with.value.details()


def refusal(host):
    """Return why the volume may not be used on the host; "" if it may."""
    return host.agent.GetDataset.future(id="data").details() or ""


def returned(host):
    """True if the host has the volume no more, but a copy of it."""
    return "_replica/data" in host.leaves() and "data" not in host.leaves()


@pytest.mark.parametrize("kind", ["zfs", "ext4"])
def test_a_copy_takes_over_and_the_lost_host_returns_as_a_copy(pair, kind):
    """The lost host had nothing new, so it gets a delta only. The volume moves back without
    loss."""
    wanted = filled(pair, kind)
    lose(pair.owner)
    words = ("failover", "data", "--lost", "n1")
    assert re.search(r"add --accept-loss [0-9]+m$", pair.zcsi(*words, status=1))
    row = pair.zcsi(*words, "--dry-run", "-Hp").rstrip("\n").split("\t")
    assert row[:2] == ["data", "n2"] and row[4] == "waits"
    wait_for(lambda: time.time() > int(row[2]) + 2, "two seconds have passed")
    assert "may be lost" in take_over(pair, "data", accept="1s", status=1)
    assert "_replica/data" in pair.other.leaves()
    take_over(pair, "data")
    name = pair.other.dataset("data")
    assert survivors(pair) == ["n2"] and get(name, "zcsi:epoch") == "1000"
    assert "lost n1, accepted 3600 s by" in get(name, "zcsi:failover")
    there = use(pair.other, make(pair.other, kind))
    assert content(there) == wanted
    write(there, "three")
    wanted = content(there)
    there.down()
    pair.owner.start_node()
    wait_for(lambda: returned(pair.owner), "the lost host has a copy", 60)
    wait_for(pair.settled, "the copy is up to date", 120)
    assert owners(pair) == ["n2"] and get(name, "zcsi:owner").startswith("boot=")
    assert "lost" not in get(name, "zcsi:owner")
    assert not [leaf for leaf in pair.owner.leaves() if leaf.startswith("_diverged/")]
    pair.zcsi("move", "data", "n1")
    assert owners(pair) == ["n1"]
    back = use(pair.owner, make(pair.owner, kind))
    assert content(back) == wanted
    back.down()


def test_data_of_the_lost_host_alone_is_kept(pair):
    """The workload of the lost host goes on writing. When the host is back, its mount stays until
    it is unmounted; then what it wrote is put aside, and it gets a copy of the other volume."""
    with in_use(pair) as volume:
        write(volume, "one")
        pair.add()
        common = content(volume)
        lose(pair.owner)
        write(volume, "late")
        diverged = content(volume)
        take_over(pair, "data")
        there = use(pair.other)
        assert content(there) == common
        pair.owner.start_node()
        wait_for(lambda: "took volume 'data' over" in refusal(pair.owner), "the lost host knows")
        assert get(pair.owner.dataset("data"), "zcsi:owner").startswith("newer=n2:")
        assert "data" in pair.owner.leaves()
        assert content(volume) == diverged
        [entry] = pair.owner.node.NodeGetVolumeHealth(
            volume_id="data").volume_health.health_statuses
        assert entry.reason == "Superseded" and "'n2' took" in entry.message
        volume.unpublish()
        volume.unstage()
        aside = pair.owner.dataset("_diverged/data-0")
        wait_for(lambda: "_diverged/data-0" in pair.owner.leaves(), "it is put aside", 60)
        wait_for(lambda: returned(pair.owner), "the lost host has a copy", 60)
        wait_for(pair.settled, "the copy is complete", 120)
        assert get(aside, "readonly") == "on" and get(aside, "zcsi:epoch") == "-"
        run("zfs", "snapshot", f"{aside}@look")
        assert int(get(f"{aside}@look", "written")) > 0
        row = pair.zcsi("diverged", "list", "-Hp").split("\t")
        assert row[:4] == ["data", "n1", "data-0", "n2"]
        run("zfs", "hold", "keep", f"{aside}@look")
        pair.zcsi("diverged", "drop", "data-0", "--destroy", "1", status=1)
        run("zfs", "release", "keep", f"{aside}@look")
        shown = pair.zcsi("diverged", "drop", "data-0", "--dry-run", "-Hp")
        assert shown.split("\t")[:4] == row[:4]
        line = "zcsi diverged drop data-0 --node n1 --destroy 1"
        assert f"to destroy it for good, run '{line}'" in pair.zcsi(
            "diverged", "drop", "data-0", status=3)
        assert pair.zcsi("diverged", "list", "-Hp").split("\t")[:4] == row[:4]
        pair.zcsi(*line.split()[1:])
        assert "_diverged/data-0" not in pair.owner.leaves()
        assert "diverged list" in pair.zcsi("diverged", "drop", "data-0", status=1)
        there.down()
        volume.down = lambda: None


@pytest.mark.parametrize("kind", ["zfs", "ext4"])
def test_diverged_data_shares_blocks_with_the_copy(pair, kind, tmp_path):
    """The lost host's copy is continued from what both have, so no data is sent or kept twice. It
    can be given up in any order: here the volume moves back before what was kept is dropped."""
    filled(pair, kind)
    lose(pair.owner)
    take_over(pair, "data")
    write_late(pair.owner, kind)
    pair.owner.start_node()
    wait_for(lambda: returned(pair.owner), "the lost host has a copy", 60)
    wait_for(pair.settled, "the copy is up to date", 120)
    aside = pair.owner.dataset("_diverged/data-0")
    assert get(aside, "origin").startswith(pair.owner.dataset("_replica/data@"))
    assert int(get(aside, "used")) < MIB < 4 * MIB < int(get(aside, "referenced"))
    assert look(pair, tmp_path / "look") == "late\n"
    there = use(pair.other, make(pair.other, kind))
    write(there, "three")
    wanted = content(there)
    there.down()
    pair.sync()
    assert get(aside, "origin").startswith(pair.owner.dataset("_replica/data@"))
    pair.zcsi("move", "data", "n1")
    back = use(pair.owner, make(pair.owner, kind))
    assert content(back) == wanted
    back.down()
    pair.zcsi("diverged", "drop", "data-0", "--destroy", "1")
    assert [leaf for leaf in pair.owner.leaves() if "data" in leaf] == ["data"]


def test_an_encrypted_volume_is_put_aside_without_its_key(pair):
    """The copy has the same key as the rest, that of the orchestrator. The name of what is put
    aside is taken by what another volume has left, so it gets a longer one."""
    volume = Volume(pair.owner, "data")
    volume.secrets = {"encryption_key": KEY}
    use(pair.owner, create(volume, {"zfs.encryption": "aes-256-gcm"}))
    write(volume, "one")
    wanted = content(volume)
    pair.add()
    lose(pair.owner)
    write(volume, "late")
    take_over(pair, "data")
    run("zfs", "create", "-p", "-o", "canmount=off", pair.owner.dataset("_diverged/data-0"))
    pair.owner.start_node()
    for step in (volume.unpublish, volume.unstage):
        step()
    wait_for(lambda: returned(pair.owner), "the lost host has a copy", 60)
    wait_for(pair.settled, "the copy is up to date", 120)
    there = Volume(pair.other, "data")
    there.secrets = volume.secrets
    write(use(pair.other, there), "two")
    wanted = content(there)
    there.down()
    pair.zcsi("move", "data", "n1")
    assert content(use(pair.owner, volume)) == wanted
    [row] = pair.zcsi("diverged", "list", "-Hp").splitlines()
    name = row.split("\t")[2]
    assert re.fullmatch("data-0-[0-9a-f]{16}", name)
    pair.zcsi("diverged", "drop", name, "--destroy", "1")
    assert content(volume) == wanted
    volume.down()


def test_a_host_that_answers_is_not_lost(pair):
    filled(pair)
    done = pair.run("failover", "data", "--lost", "n1", "--accept-loss", "1h")
    assert done.returncode == 1 and "zcsi move data" in done.stdout
    assert owners(pair) == ["n1"]
    assert "add --lost NODE" in pair.zcsi("failover", "data", status=1)
    assert "not a time" in take_over(pair, "data", accept="soon", status=1)


def test_nomad_waits_for_the_failover(pair):
    """ControllerUnpublishVolume for the lost node fails at once until the failover, and is OK after
    it; a workload elsewhere is told what to type."""
    create(Volume(pair.owner, "data"), {"replicas": "2"})
    here = of(pair, pair.owner)
    attached(here)
    pair.sync()
    lose(pair.owner)
    unpublish = dict(volume_id="data", node_id="n1")
    begun = time.monotonic()
    with refused(grpc.StatusCode.UNAVAILABLE, naming="zcsi why data"):
        pair.owner.controller.ControllerUnpublishVolume(**unpublish)
    assert time.monotonic() - begun < SOON * PATIENCE
    there = of(pair, pair.other)
    wait_for(lambda: "zcsi failover data --lost" in why(there), "it is told what to type")
    take_over(pair, "data")
    pair.owner.controller.ControllerUnpublishVolume(**unpublish)
    attached(there)
    there.stage()
    there.publish()
    there.down()


def test_a_booted_owner_waits_for_its_members(pair):
    """The recorded boot is another one, as after a reboot. Without the other node, an operator says
    that none has the volume."""
    filled(pair)
    name = pair.owner.dataset("data")
    lose(pair.other)
    lose(pair.owner)
    run("zfs", "set", "zcsi:owner=boot=another", name)
    pair.owner.start_node()
    wait_for(lambda: "zcsi confirm data" in refusal(pair.owner), "it waits for the other node")
    pair.zcsi("confirm", "data")
    assert not refusal(pair.owner)
    lose(pair.owner)
    run("zfs", "set", "zcsi:owner=boot=another", name)
    pair.owner.start_node()
    pair.other.start_node()
    wait_for(lambda: not refusal(pair.owner), "the other node has answered", 60)
    assert get(name, "zcsi:owner") != "boot=another"


def killed_at(host, gate, runs):
    """Kill zcsi-node while its program waits at the gate, and start it again. The program runs
    after that end if `runs`, else never."""
    gate.arrived()
    host.node_daemon.kill()
    if not runs:
        gate.kill()
    gate.open()
    host.restart(host.node_daemon)


def ends(pair, wanted, kind):
    """Check that the command, typed again, succeeds, and that the lost host becomes a copy."""
    words = ("failover", "data", "--lost", "n1", "--accept-loss", "1h")
    wait_for(lambda: survivors(pair) == ["n2"] or not pair.run(*words).returncode,
             "the volume is taken over", 60)
    there = use(pair.other, make(pair.other, kind))
    assert content(there) == wanted
    there.down()
    if not pair.owner.node_daemon.running():
        pair.owner.start_node()
    wait_for(lambda: returned(pair.owner), "the lost host has a copy", 60)
    wait_for(pair.settled, "the copy is up to date", 120)
    assert owners(pair) == ["n2"]


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("kind, program", [
    ("zfs", "set zcsi:accepted"), ("zfs", "rename"), ("ext4", "rename"),
    ("ext4", "inherit volmode")])
def test_a_failover_survives_a_kill_at_each_program(new_pair, gate, kind, program, runs):
    with new_pair(other_env=gate.env) as pair:
        wanted = filled(pair, kind)
        lose(pair.owner)
        gate.hold(program)
        command = pair.begin("failover", "data", "--lost", "n1", "--accept-loss", "1h")
        killed_at(pair.other, gate, runs)
        command.wait()
        ends(pair, wanted, kind)


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("kind, program", [
    ("zfs", "set zcsi:owner=newer"), ("zfs", "set zcsi:epoch"), ("zfs", "rename"),
    ("zfs", "set zcsi:owner=-"), ("ext4", "rename")])
def test_a_return_survives_a_kill_at_each_program(new_pair, gate, kind, program, runs):
    with new_pair(owner_env=gate.env) as pair:
        wanted = filled(pair, kind)
        lose(pair.owner)
        take_over(pair, "data")
        gate.hold(program)
        pair.owner.start_node()
        killed_at(pair.owner, gate, runs)
        ends(pair, wanted, kind)


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("kind, program", [
    ("zfs", "clone"), ("zfs", "promote"), ("ext4", "promote"), ("zfs", "rename")])
def test_diverged_data_survives_a_kill_at_each_program(new_pair, gate, kind, program, runs):
    with new_pair(owner_env=gate.env) as pair:
        wanted = filled(pair, kind)
        lose(pair.owner)
        take_over(pair, "data")
        write_late(pair.owner, kind)
        gate.hold(program)
        pair.owner.start_node()
        killed_at(pair.owner, gate, runs)
        ends(pair, wanted, kind)
        assert get(pair.owner.dataset("_diverged/data-0"), "origin") != "-"


def test_a_host_that_returns_amid_a_failover_waits_for_its_end(new_pair, gate):
    """The new owner was killed after its promise. The lost host does not use the volume, and the
    same command goes on, though that host answers now."""
    with new_pair(other_env=gate.env) as pair:
        wanted = filled(pair)
        lose(pair.owner)
        gate.hold("rename")
        command = pair.begin("failover", "data", "--lost", "n1", "--accept-loss", "1h")
        killed_at(pair.other, gate, False)
        command.wait()
        pair.owner.start_node()
        wait_for(lambda: "took volume 'data' over" in refusal(pair.owner), "the lost host knows")
        assert "data" not in pair.other.leaves()
        take_over(pair, "data")
        wait_for(lambda: returned(pair.owner), "the lost host has a copy", 60)
        there = use(pair.other)
        assert content(there) == wanted
        there.down()


def test_a_deleted_volume_does_not_come_back(pair):
    """The volume is deleted after the failover. The lost host makes way all the same, and its copy
    is dropped."""
    filled(pair)
    lose(pair.owner)
    take_over(pair, "data")
    Volume(pair.other, "data").delete()
    pair.owner.start_node()
    wait_for(lambda: not {"data", "_replica/data"} & set(pair.owner.leaves()),
             "the lost host has nothing of it", 120)
    wait_for(lambda: owners(pair) == [], "no host has the volume")


def test_a_deleted_volume_that_was_taken_over_leaves_the_trash(pair):
    """The volume is deleted while the node of its copy is down, which then takes it over."""
    with in_use(pair) as volume:
        write(volume, "one")
        pair.add()
    wait_for(pair.settled, "no push runs")
    lose(pair.other)
    volume.delete()
    lose(pair.owner)
    pair.other.start_node()
    take_over(pair, "data")
    pair.owner.start_node()
    wait_for(lambda: not any(leaf.startswith("_trash/") for leaf in pair.owner.leaves()),
             "the trash of the lost host is empty", 120)
    assert owners(pair) == ["n2"]


@pytest.fixture
def volume(trio):
    """A volume of n1, with complete copies on n2 and n3, that nothing uses."""
    with in_use(trio) as made:
        write(made, "one")
        for node in ("n2", "n3"):
            trio.zcsi("copy", "add", "data", node)
        wait_for(trio.settled, "both copies are complete", 60)
        made.wanted = content(made)
    trio.sync()
    wait_for(lambda: have_all(trio, *trio.hosts[1:]), "both copies have all")
    return made


def test_the_other_survivor_follows_by_a_delta(trio, volume):
    """All volumes of the lost node are taken over. The third node promises itself to the new owner,
    and gets what it lacks from it."""
    _, near, far = trio.hosts
    lose(trio.owner)
    take_over(trio, "--to", "n2")
    assert survivors(trio) == ["n2"]
    assert get(trio.replica(host=far), "zcsi:accepted") == "n2:2"
    there = use(near, of(trio, near))
    assert content(there) == volume.wanted
    start = near.node_daemon.mark()
    write(there, "two")
    trio.run("sync", "data")
    wait_for(lambda: have_all(trio, far, owner=near), "the third node has it", 120)
    sends = [argv for argv in near.node_daemon.runs(start) if " send " in argv]
    assert sends and all(" -i " in argv for argv in sends)
    there.down()


def test_a_silent_survivor_stops_a_failover_unless_it_is_lost_too(trio, volume):
    _, near, far = trio.hosts
    lose(trio.owner)
    lose(far)
    trio.zcsi("failover", "data", "--lost", "n1", "--accept-loss", "1h", status=1)
    assert survivors(trio) == []
    take_over(trio, "data", "--lost", "n3")
    assert survivors(trio) == ["n2"]
    assert get(near.dataset("data"), "zcsi:owner").endswith("lost=n1,lost=n3")


def test_two_failovers_at_once_have_one_winner(trio, volume):
    lose(trio.owner)
    words = ("failover", "data", "--lost", "n1", "--accept-loss", "1h", "--to")
    both = [trio.begin(*words, node) for node in ("n2", "n3")]
    for each in both:
        each.wait()
    if not survivors(trio):
        take_over(trio, "data")
    assert len(survivors(trio)) == 1


def test_a_partitioned_owner_gives_the_volume_up(trio, volume):
    """The lost host still runs, and hears of the failover when the network is back."""
    trio.owner.namespaces.unplug()
    take_over(trio, "data", "--to", "n3")
    trio.owner.namespaces.plug()
    wait_for(lambda: returned(trio.owner), "the lost host has a copy", 120)
    wait_for(trio.settled, "the copies are up to date", 120)
    assert owners(trio) == ["n3"]


def test_a_host_that_a_survivor_reaches_is_not_lost(trio, volume):
    """The host is cut off from the operator and from the node that is to take the volume over, and
    not from the third one, which promises nothing. The host keeps the volume until it is off."""
    _, near, far = trio.hosts
    with trio.owner.namespaces.cut_off_from(MACHINE, near.namespaces.address):
        words = ("failover", "data", "--lost", "n1", "--to", "n2")
        done = trio.run(*words, "--accept-loss", "1h")
        assert done.returncode == 1, done
        assert "node 'n3' reaches node 'n1', which has volume 'data'" in done.stdout
        assert "switch node 'n1' off" in done.stdout
        assert owners(trio) == ["n1"] and not refusal(trio.owner)
        assert get(trio.replica(host=far), "zcsi:accepted") == "-"
        assert get(trio.replica(host=far), "zcsi:epoch") in ("-", "0")
        lose(trio.owner)
        take_over(trio, "data", "--to", "n2")
        assert survivors(trio) == ["n2"]
    there = use(near, of(trio, near))
    assert content(there) == volume.wanted
    there.down()


def test_a_plan_prints_the_last_call_of_the_lost_host(trio, volume):
    """The owner speaks to the nodes with copies twice a minute, and when it is started."""
    lose(trio.owner)
    trio.owner.start_node()
    wait_for(lambda: all(host.agent.ListCopies().copies[0].heard for host in trio.hosts[1:]),
             "the owner has spoken to both", 60)
    lose(trio.owner)
    [row] = trio.zcsi("failover", "data", "--lost", "n1", "--dry-run", "-Hp").splitlines()
    assert row.split("\t")[4] == "waits"
    assert re.search("node 'n[23]' got a call from node 'n1' [0-9]+ s ago", row)
