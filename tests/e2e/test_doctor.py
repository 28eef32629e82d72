# SPDX-License-Identifier: MPL-2.0
"""`zcsi doctor`. Each test plants a fault, finds it, types the command that the finding names, and
does not find it again. Faults of copies are in openzfs/test_doctor_copies.py."""
import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
from collections import namedtuple

from client import MIB
from daemon import BUILD, wait_for
from host import fill, get, Host, run, Volume
from pool import Pools
from test_cli import rows

Finding = namedtuple("Finding", "effect volume node text type")


def zcsi(hosts, *words):
    agents = [word for host in hosts for word in ("--agent", f"unix://{host.agent_socket}")]
    return subprocess.run([BUILD / "zcsi", *agents, *words], capture_output=True, text=True,
                          check=False)


def findings(done):
    """Return what a `zcsi doctor -H` has printed. Its exit status says whether one of the findings
    needs attention."""
    found = [Finding(*row) for row in rows(done.stdout)]
    needs = any(each.effect != "note" for each in found)
    assert (done.returncode, done.stderr) == (3 if needs else 0, ""), done
    return found


def doctor(*hosts):
    return findings(zcsi(hosts, "doctor", "-H"))


def typed(hosts, line):
    """Type a command. If it does nothing and names another command, with a statement of the
    operator, type that one."""
    words = shlex.split(line)
    if words[0] != "zcsi":
        run(*words)
        for host in hosts:
            host.read_again()  # zfs-fuse tells of no change
        return
    done = zcsi(hosts, *words[1:])
    if done.returncode:
        options = re.search(r"add (--[a-z-]+ \w+)", done.stderr)
        further = f"{line} {options[1]}" if options else \
            re.findall(r"'(zcsi [^']+)'", done.stderr)[-1]
        assert further.startswith(line), done
        done = zcsi(hosts, *shlex.split(further)[1:])
    assert done.returncode == 0, done


def mended(hosts, *, text, effect, **wanted):
    """Find the only finding with this text, type its command, and see that it is gone."""
    def found():
        return [each for each in doctor(*hosts) if text in each.text]
    [finding] = found()
    assert finding.effect == effect
    assert {name: getattr(finding, name) for name in wanted} == wanted
    typed(hosts, finding.type)
    wait_for(lambda: not found(), f"'{text}' is found no more")


def plant(volume, *properties):
    run("zfs", "set", *properties, volume.host.dataset(volume.id))
    volume.host.read_again()


def test_a_healthy_site_has_no_findings(host, other, volume):
    volume.up()
    assert doctor(host, other) == []
    assert zcsi([host, other], "doctor").stdout == "nothing is wrong\n"
    printed = json.loads(zcsi([host], "doctor", "-o", "json").stdout)
    assert printed["findings"] == [] and printed["silent"] == []


def test_a_paused_copy_is_reported(host, volume):
    volume.create()
    plant(volume, "zcsi:members=00112233aabbccdd:300:n1,n2")
    run("zfs", "set", "zcsi:push=paused", host.dataset("data"))
    host.read_again()
    mended([host], text="is paused and gets nothing", effect="may stop", volume="data", node="n1",
           type="zcsi resume data")


def test_an_unreadable_record_of_copies_is_reported(host, volume):
    volume.create()
    plant(volume, "zcsi:members=n1,n2")
    mended([host], text="zcsi:members, cannot be read: 'n1,n2'", effect="may stop", volume="data",
           node="n1", type=f"zfs inherit zcsi:members {host.dataset('data')}")
    assert doctor(host) == []


def test_an_unreadable_schedule_is_reported(host, volume):
    volume.create()
    plant(volume, "zcsi:keep=dayly=7")
    mended([host], text="zcsi:keep, cannot be read: 'dayly=7'", effect="may stop", volume="data",
           node="n1", type="zcsi modify data keep=none")
    assert doctor(host) == []


def test_failed_snapshots_of_a_schedule_are_reported(new_host, tmp_path):
    """A zfs that takes no snapshots as long as there is a file."""
    program, broken = tmp_path / "zfs", tmp_path / "broken"
    program.write_text(f"""#!/bin/sh
if [ "$1" = snapshot ] && [ -e {broken} ]; then
	echo "cannot create snapshot: out of space" >&2
	exit 1
fi
exec {shutil.which("zfs")} "$@"
""")
    program.chmod(0o755)
    broken.touch()
    host = new_host(env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}).start()
    volume = Volume(host, "data")
    volume.create(parameters={"keep": "yearly=1"})
    found = wait_for(lambda: doctor(host), "the snapshot has failed")
    assert [each[:3] for each in found] == [("may stop", "data", "n1")]
    assert "tried again each minute" in found[0].text and "space" in found[0].text
    assert "tried again each minute" in zcsi([host], "why", "data").stdout
    broken.unlink()
    Volume(host, "other").create(parameters={"keep": "yearly=1"})  # so schedules are read now
    wait_for(lambda: doctor(host) == [], "the snapshot is taken")


def test_a_duplicate_is_reported(host, other):
    for each in (host, other):
        each.agent.CreateDataset(id="data", size=8 * MIB)
        run("zfs", "set", "zcsi:published=-", each.dataset("data"))
        each.read_again()
    name = other.dataset("data")
    mended([host, other], text="it exists on node 'n1' and node 'n2'", effect="stops",
           volume="data", type=f"zfs rename {name} {name}-n2")
    assert doctor(host, other) == []


def test_a_forgotten_publication_is_reported(host, volume):
    volume.create()
    volume.attach()
    mended([host], text="attached to the node and not mounted there", effect="waits",
           volume="data", node="n1", type="zcsi unpublish data n1")
    assert doctor(host) == []


def test_an_idle_publication_is_a_note(host, volume):
    volume.up()
    volume.unpublish()
    volume.unstage()
    mended([host], text="does not use it any more", effect="note", volume="data", node="n1")


def test_a_publication_to_an_absent_node_is_reported(host, other, volume):
    volume.create()
    plant(volume, "zcsi:published=n2:5:rw:127.0.0.2")
    other.node_daemon.kill()
    mended([host, other], text="node 'n2', to which it is attached, does not answer",
           effect="may stop", volume="data", type="zcsi unpublish data n2")


def test_an_unreadable_publication_is_reported(host, volume):
    volume.create()
    plant(volume, "zcsi:published=nonsense")
    mended([host], text="zcsi:published cannot be read", effect="stops", volume="data",
           type="zcsi unpublish data --force")
    assert doctor(host) == []


def test_an_agent_that_does_not_answer_is_reported(host, other):
    other.node_daemon.kill()
    [finding] = doctor(host, other)
    assert finding.effect == "stops" and finding.node == f"unix://{other.agent_socket}"
    assert "does not answer" in finding.text and "start zcsi-node there" in finding.text
    other.node_daemon.close()
    other.start_node()
    assert doctor(host, other) == []


def test_an_absent_host_can_be_forgotten(new_host, other):
    """The agents keep for controllers that there was such a host."""
    host = new_host(agents=[f"unix://{other.agent_socket}"],
                    controller_args=("--roll-call", "1")).start()
    wait_for(lambda: len(host.agent.ListKnownHosts().hosts) == 2, "n1 knows of n2")
    host.controller_daemon.kill()
    assert doctor(host, other) == []
    other.node_daemon.kill()
    [finding] = doctor(host, other)
    assert finding.node == "n2"  # known from the list, though the node does not answer
    mended([host], text="was not asked", effect="may stop", node="n2", type="zcsi forget n2")
    assert doctor(host) == []


def test_a_node_id_of_two_agents_is_reported(host, new_host):
    twin = new_host().start()
    [finding] = doctor(host, twin)
    assert finding[:3] == ("stops", "-", "n1") and "are both this node" in finding.text
    at = twin.node_daemon.argv.index("--node-id") + 1
    twin.node_daemon.kill()
    twin.node_daemon.argv[at] = "n2"
    twin.node_daemon.close()
    twin.start_node()
    assert doctor(host, twin) == []


def filled_by_trash(new_host, left, *args):
    """Return a host with a deleted volume of 12 MiB, and `left` bytes that are free."""
    host = new_host(node_args=["--trash-ttl", "100000", *args]).start()
    volume = Volume(host, "data", size=32 * MIB).up()
    with open(f"{volume.target}/file", "wb") as file:
        file.write(bytes(range(256)) * (12 * MIB // 256))
    volume.down().delete()
    host.read_again()
    run("zfs", "set", f"quota={int(get(host.parent, 'used')) + left}", host.parent)
    host.read_again()
    return host


def test_a_pool_full_of_deleted_volumes_is_reported(new_host):
    host = filled_by_trash(new_host, MIB // 4, "--trash-free", "0")
    mended([host], text="the trash has more", effect="may stop", node="n1",
           type="zcsi trash empty")


def test_a_large_trash_is_a_note(new_host):
    host = filled_by_trash(new_host, 8 * MIB)
    mended([host], text="more than is left in its pool", effect="note", node="n1",
           type="zcsi trash empty")


def test_a_degraded_pool_is_reported(tmp_path):
    with contextlib.closing(Pools(tmp_path)) as pools:
        name = pools.create(f"doctor{os.getpid()}", 128)
        with contextlib.closing(Host(name)) as host:
            host.start()
            [device] = tmp_path.iterdir()
            second = tmp_path / "second"
            second.touch()
            os.truncate(second, device.stat().st_size)
            run("zpool", "attach", name, device, second)
            run("zpool", "offline", name, second)
            host.read_again()
            mended([host], text=f"is DEGRADED: its device '{second}' is OFFLINE",
                   effect="may stop", node="n1", type=f"zpool online {name} {second}")
            assert doctor(host) == []


def test_an_exported_pool_is_reported(tmp_path):
    """The command is not typed: it looks for devices, and this pool is in a file."""
    with contextlib.closing(Pools(tmp_path)) as pools:
        name = pools.create(f"doctor{os.getpid()}", 128)
        with contextlib.closing(Host(name)) as host:
            host.start()
            run("zpool", "export", name)
            host.rescan(lambda: doctor(host))
            [finding] = doctor(host)
            pools.create(name, 128)  # imports it
            assert finding[:3] == ("stops", "-", "n1") and "there is no pool" in finding.text
            assert finding.type == "zpool import " + name
            host.rescan(lambda: doctor(host) == [])


def test_a_received_stream_waits_for_its_adoption(host):
    name = host.dataset("_received/data")
    run("zfs", "create", "-p", "-o", "canmount=noauto", name)
    assert doctor(host) == []  # a stream that is still received has no snapshot
    for snapshot in ("one", "two"):
        run("zfs", "snapshot", f"{name}@{snapshot}")
    mended([host], text="it was received, and is no volume yet", effect="waits", volume="data",
           node="n1", type="zcsi adopt data --node n1")
    assert host.ids() == ["data"] and doctor(host) == []


def test_a_deleted_volume_whose_time_ends_soon_is_a_note(new_host):
    host = new_host(node_args=["--trash-ttl", "1000"]).start()
    volume = Volume(host, "data")
    volume.create()
    volume.delete()
    mended([host], text="is destroyed for good in", effect="note", volume="data", node="n1")
    assert host.ids() == ["data"]


def test_a_full_volume_is_reported(host, volume):
    volume.up()
    fill(f"{volume.target}/file")
    host.read_again()
    [finding] = doctor(host)
    assert finding[:3] in (("stops", "data", "n1"), ("may stop", "data", "n1"))
    assert "full" in finding.text and finding.type.startswith("zcsi resize data ")
    typed([host], finding.type)
    host.read_again()
    assert doctor(host) == []


def test_many_findings_of_a_kind_are_abridged(host):
    for number in range(12):
        volume = Volume(host, f"v{number:02}")
        volume.create()
        volume.attach()
    assert len(doctor(host)) == 12
    printed = zcsi([host], "doctor").stdout.splitlines()
    assert len(printed) == 12 and "2 more" in printed[-1] and "zcsi doctor -H" in printed[-1]
    assert len(json.loads(zcsi([host], "doctor", "-o", "json").stdout)["findings"]) == 12
