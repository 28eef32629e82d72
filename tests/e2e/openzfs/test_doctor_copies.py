# SPDX-License-Identifier: MPL-2.0
"""`zcsi doctor` with copies: a fault is planted and found, the command that the finding names is
typed, and it is not found again."""
from copies import create, in_use, write
from daemon import wait_for
from host import run, Volume
from test_doctor import doctor, mended, typed
from test_failover import lose, returned, take_over
from test_move import filled


def found(pair, text):
    return [each for each in doctor(*pair.hosts) if text in each.text]


def test_only_a_paused_copy_is_reported(pair):
    filled(pair)
    assert doctor(*pair.hosts) == []
    pair.zcsi("pause", "data")
    mended(pair.hosts, text="it is paused", effect="may stop", volume="data", node="n1",
           type="zcsi resume data")
    wait_for(pair.settled, "no push runs")
    assert doctor(*pair.hosts) == []


def test_a_failed_push_is_reported(pair):
    filled(pair)
    lose(pair.other)
    pair.zcsi("sync", "data", status=1)
    [finding] = found(pair, "the last push failed")
    assert finding[:3] == ("may stop", "data", "n1") and finding.type == "zcsi sync data"
    pair.other.start_node()
    typed(pair.hosts, finding.type)
    wait_for(pair.settled, "no push runs")
    assert doctor(*pair.hosts) == []


def test_a_lost_owner_is_reported(pair):
    filled(pair)
    lose(pair.owner)
    assert "does not answer" in found(pair, "its agent")[0].text
    mended(pair.hosts, text="can take its place", effect="stops", volume="data", node="n1",
           type="zcsi failover data --lost n1")
    pair.owner.start_node()
    wait_for(lambda: returned(pair.owner), "the lost host has a copy", 60)
    wait_for(pair.settled, "the copy is up to date", 120)
    assert doctor(*pair.hosts) == []


def test_diverged_data_is_reported(pair):
    with in_use(pair) as volume:
        write(volume, "one")
        pair.add()
        lose(pair.owner)
        write(volume, "late")
        take_over(pair, "data")
        pair.owner.start_node()
        volume.unpublish()
        volume.unstage()
        volume.down = lambda: None
    wait_for(lambda: "_diverged/data-0" in pair.owner.leaves(), "it is put aside", 60)
    wait_for(lambda: returned(pair.owner), "the lost host has a copy", 60)
    wait_for(pair.settled, "the copy is complete", 120)
    mended(pair.hosts, text="which took it over, does not have", effect="waits", volume="data",
           node="n1", type="zcsi diverged drop data-0 --node n1")


def test_an_unconfirmed_owner_is_reported(pair):
    filled(pair)
    lose(pair.other)
    lose(pair.owner)
    run("zfs", "set", "zcsi:owner=boot=another", pair.owner.dataset("data"))
    pair.owner.start_node()
    wait_for(lambda: found(pair, "refuses calls for it: node 'n1' was booted"), "it waits")
    mended(pair.hosts, text="refuses calls for it", effect="stops", volume="data", node="n1",
           type="zcsi confirm data")


def of_nodes(pair, nodes):
    """Write by hand of which nodes the copies of a new volume are."""
    create(Volume(pair.owner, "data"))
    run("zfs", "set", f"zcsi:members=00112233aabbccdd:300:{nodes}", pair.owner.dataset("data"))
    pair.owner.read_again()


def test_a_member_without_an_agent_is_reported(pair):
    of_nodes(pair, "n1,n9")
    mended(pair.hosts, text="'n9', which is to have a copy, is none of the agents",
           effect="may stop", volume="data", node="n1", type="zcsi copy drop data n9 --gone")
    wait_for(lambda: doctor(*pair.hosts) == [], "nothing is wrong")


def test_a_replaced_node_that_is_gone_is_reported(pair):
    of_nodes(pair, "n1:n9")
    mended(pair.hosts, text="node 'n9' did not answer and has been replaced", effect="waits",
           volume="data", node="n1", type="zcsi copy drop data n9 --gone")
    assert doctor(*pair.hosts) == []


def test_a_copy_without_its_volume_is_reported(pair):
    filled(pair)
    run("zfs", "destroy", "-r", pair.owner.dataset("data"))
    pair.owner.rescan(lambda: not pair.owner.ids())
    copy, kept = pair.other.dataset("_replica/data"), f"{pair.other.parent.split('/')[0]}/data-copy"
    mended(pair.hosts, text="no node has the volume of this copy", effect="waits", volume="data",
           node="n2", type=f"zfs rename {copy} {kept}")
    assert doctor(*pair.hosts) == []
    run("zfs", "destroy", "-r", kept)


def test_a_lost_node_without_a_replacement_is_reported(pair):
    filled(pair)
    pair.zcsi("modify", "data", "repair_after=10s")
    lose(pair.other)
    wait_for(lambda: found(pair, "is not replaced"), "it is silent for too long", 120)
    mended(pair.hosts, text="longer than repair_after, and is not replaced", effect="may stop",
           volume="data", node="n1", type="zcsi copy drop data n2 --gone")
    assert [each.volume for each in doctor(*pair.hosts)] == ["-"]  # the agent of n2
