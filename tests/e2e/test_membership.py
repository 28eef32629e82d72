# SPDX-License-Identifier: MPL-2.0
"""The set of agents: the agents file changes; agents start, stop, hang and change their node id."""
import contextlib
import os
import signal
from pathlib import Path

import grpc
import pytest

from client import capability, refused, topology
from cluster import Cluster
from daemon import wait_for
from host import run, Volume
from snapshots import take, trashed

CODE = grpc.StatusCode
QUICK = ("--roll-call", "1")


@pytest.fixture
def new_cluster(pool):
    with contextlib.ExitStack() as stack:
        def make(n=2, **kwargs):
            return stack.enter_context(contextlib.closing(Cluster([pool] * n, **kwargs)))
        yield make


@pytest.fixture
def listed(new_cluster):
    return new_cluster(listed=True)


def on(cluster, host, name):
    """Create a volume on this host, through the first controller."""
    volume = Volume(cluster.hosts[0], name)
    volume.create(accessibility_requirements=topology(host.node_id))
    return volume


def said(cluster, message, since=0, **fields):
    """Wait until the controller has logged this message with these fields."""
    def seen():
        return any(line["msg"] == message and all(line.get(k) == v for k, v in fields.items())
                   for line in cluster.daemons[0].log()[since:])
    wait_for(seen, f"the controller logs '{message}' {fields}")


def rename(path, text):
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").rename(path)


def rewrite(path, text):
    path.write_text(text)


def switch(path, text):
    """Replace the file as a kubelet does: the path is a link through a link that is replaced."""
    version = path.with_name(f"version-{len(os.listdir(path.parent))}")
    version.mkdir()
    (version / "agents").write_text(text)
    for name, target in ((".data", version.name), (path.name, ".data/agents")):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(name + ".new").unlink()
        path.with_name(name + ".new").symlink_to(target)
        path.with_name(name + ".new").rename(path.with_name(name))


@pytest.mark.parametrize("change", [rename, rewrite, switch])
def test_the_list_follows_the_file(listed, change):
    a, b = listed.hosts
    on(listed, b, "data")
    assert a.ids() == ["data"]
    change(listed.list, "# only one\n\n" + listed.lines(a))
    wait_for(lambda: a.ids() == [], "b is off the list")
    said(listed, "agent is off the list",
         agent=f"unix://{b.agent_socket}", node="b")
    change(listed.list, listed.lines(a, b))
    wait_for(lambda: a.ids() == ["data"], "b is on the list again")
    on(listed, a, "other")
    change(listed.list, listed.lines(b))
    wait_for(lambda: a.ids() == ["data"], "a is off the list")


def of_b(cluster, names):
    """Check that calls about these names, which host b has, fail because b is off the list."""
    a, data = cluster.hosts[0].controller, Volume(cluster.hosts[0], "data")
    calls = {"data": [data.create, data.delete,
                      lambda: a.ValidateVolumeCapabilities(
                          volume_id="data", volume_capabilities=[capability()])],
             "s": [lambda: a.GetSnapshot(snapshot_id="data@s"),
                   lambda: a.DeleteSnapshot(snapshot_id="data@s"),
                   lambda: a.CreateSnapshot(source_volume_id="mine", name="s")],
             "g": [lambda: a.GetVolumeGroupSnapshot(group_snapshot_id="g"),
                   lambda: a.CreateVolumeGroupSnapshot(name="g", source_volume_ids=["mine"])]}
    for call in [call for name in names for call in calls[name]]:
        with refused(CODE.UNAVAILABLE, naming=("node 'b'", "off the list since 20")):
            call()


def kept(host, keeper):
    """Wait until an agent keeps the names of another host, which it may not know yet."""
    names = set(host.agent.ListNames().hashes)

    def known():
        answer = keeper.agent.GetKeptNames.future(node_id=host.node_id)
        return not answer.exception() and names <= set(answer.result().hashes)
    wait_for(known, f"{keeper.node_id} keeps them")


def renew(cluster):
    """Stop and start the controller, so that it remembers nothing."""
    daemon = cluster.daemons[0]
    daemon.stop()
    daemon.start()
    for host in cluster.hosts:
        host.controller = daemon.client()


@pytest.mark.parametrize("known", ["read", "made", "kept"])
def test_names_of_an_absent_host_stay_taken(listed, known):
    """The controller has read the names from the agent ("read"), has made them itself ("made"), or,
    if it was started after that agent had left the list, knows them from another one ("kept")."""
    a, b = listed.hosts
    on(listed, a, "mine")
    take(on(listed, b, "data"))
    a.controller.CreateVolumeGroupSnapshot(name="g", source_volume_ids=["data"])
    if known == "read":
        renew(listed)
        assert a.ids() == ["data", "mine"]
    if known == "kept":
        kept(b, a)
    rename(listed.list, listed.lines(a))
    said(listed, "agent is off the list", node="b")
    wait_for(lambda: a.ids() == ["mine"], "b is not asked")
    if known == "kept":
        renew(listed)
        said(listed, "names of an absent host are loaded", node="b")
    of_b(listed, "data s g".split())
    with refused(CODE.UNAVAILABLE, naming=("cannot be used on node 'b'", "off the list since 20")):
        Volume(a, "mine").attach(node_id="b")
    Volume(a, "never").delete()
    Volume(a, "other").create()
    take(Volume(a, "mine"), "of-a")
    assert listed.where() == {"data": ["b"], "mine": ["a"], "other": ["a"]}
    rename(listed.list, listed.lines())
    wait_for(lambda: a.ids() == ["data", "mine", "other"], "b is on the list again")
    a.controller.DeleteSnapshot(snapshot_id="data@s")
    with refused(CODE.ALREADY_EXISTS):
        on(listed, a, "data")


def test_a_host_without_kept_names_may_have_any_name(listed):
    a, b = listed.hosts
    on(listed, b, "data")
    wait_for(lambda: len(a.agent.ListKnownHosts().hosts) == 2, "a knows b")
    listed.daemons[0].stop()
    for file in Path(a.cache.name).glob("*/names-*"):
        file.unlink()
    rename(listed.list, listed.lines(a))
    listed.daemons[0].start()
    a.controller = listed.daemons[0].client()
    for name in "data", "other":
        with refused(CODE.UNAVAILABLE, naming=("may be on node 'b'", "--forget 'b'")):
            Volume(a, name).create()
    listed.daemons[0].argv += ["--forget", "b"]
    renew(listed)
    Volume(a, "other").create()
    assert listed.where() == {"data": ["b"], "other": ["a"]}


def test_a_forgotten_host_stays_forgotten(listed):
    a, b = listed.hosts
    on(listed, b, "data")
    kept(b, a)
    rename(listed.list, listed.lines(a))
    said(listed, "agent is off the list", node="b")
    argv = listed.daemons[0].argv
    argv += ["--forget", "b"]
    renew(listed)
    said(listed, "host is forgotten, and its names are free", node="b")
    wait_for(lambda: any(host.forgotten for host in a.agent.ListKnownHosts().hosts), "a knows it")
    del argv[-2:]
    renew(listed)
    a.node_daemon.kill()
    a.restart(a.node_daemon)
    Volume(a, "data").create()
    assert listed.where() == {"data": ["a", "b"]}


def test_a_host_is_forgotten_after_a_time(new_cluster):
    cluster = new_cluster(listed=True, controller_args=(*QUICK, "--forget-after", "3"))
    a, b = cluster.hosts
    on(cluster, b, "data")
    rename(cluster.list, cluster.lines(a))
    said(cluster, "agent is off the list", node="b")
    said(cluster, "host is forgotten, and its names are free", node="b")
    Volume(a, "data").create()
    assert cluster.where() == {"data": ["a", "b"]}


@pytest.mark.parametrize("text", ["", "# nobody\n", "unix:///x\nhttp://what\n"])
def test_an_invalid_agents_file_changes_nothing(listed, text):
    a, b = listed.hosts
    on(listed, b, "data")
    rename(listed.list, text)
    said(listed, "cannot use --agents-file, keeping the previous list")
    assert a.ids() == ["data"]
    listed.list.unlink()
    assert a.ids() == ["data"]


def test_sighup_reads_the_agents_file_again(listed):
    a, b = listed.hosts
    said(listed, "--agents-file is loaded")
    reads = listed.daemons[0].text().count("--agents-file is loaded")
    listed.daemons[0].signal(signal.SIGHUP)
    wait_for(lambda: listed.daemons[0].text().count("--agents-file is loaded") > reads,
             "the file is read again")
    on(listed, b, "data")
    assert a.ids() == ["data"]


def test_a_missing_agents_file_is_waited_for(new_cluster, tmp_path):
    cluster = new_cluster()
    a = cluster.hosts[0]
    later = tmp_path / "agents"
    argv = cluster.daemons[0].argv
    argv[argv.index("--agent"):] = ["--agents-file", str(later)]
    cluster.daemons[0].stop()
    cluster.daemons[0].start()
    a.controller = cluster.daemons[0].client()
    with refused(CODE.UNAVAILABLE, naming=("no agent is known", "--agents-file")):
        Volume(a, "data").delete()
    rename(later, cluster.lines())
    wait_for(lambda: a.controller.ListVolumes.future().code() == CODE.OK, "it is read")
    Volume(a, "data").create()


def test_two_agents_of_one_name_are_refused(new_host, new_cluster):
    cluster = new_cluster(n=1, controller_args=QUICK)
    a = cluster.hosts[0]
    on(cluster, a, "data")
    twin = new_host(node_id="a")
    twin.start_node()
    daemon = cluster.daemons[0]
    daemon.stop()
    daemon.argv += ["--agent", f"unix://{twin.agent_socket}"]
    daemon.start()
    a.controller = daemon.client()
    both = (a.agent_socket, twin.agent_socket, "the same node", "'a'")
    for call in (Volume(a, "data").create, Volume(a, "new").create, Volume(a, "data").delete,
                 a.controller.ListVolumes, a.controller.GetCapacity):
        with refused(CODE.FAILED_PRECONDITION, naming=both):
            call()
    twin.node_daemon.argv[twin.node_daemon.argv.index("--node-id") + 1] = "b"
    twin.node_daemon.stop()
    twin.node_daemon.start()
    # The refused agent never counted as node 'a', but the controller remembers its name.
    daemon.close()
    daemon.stop()
    daemon.start()
    a.controller = daemon.client()
    assert a.ids() == ["data"]


def test_an_agent_that_becomes_another_is_refused(new_cluster):
    cluster = new_cluster(controller_args=QUICK)
    a, b = cluster.hosts
    on(cluster, b, "data")
    argv = b.node_daemon.argv
    argv[argv.index("--node-id") + 1] = "z"
    b.node_daemon.stop()
    b.node_daemon.start()
    said(cluster, "agent is refused", agent=f"unix://{b.agent_socket}")
    naming = (b.agent_socket, "was node 'b'", "is node 'z'")
    with refused(CODE.FAILED_PRECONDITION, naming=naming):
        Volume(a, "data").delete()
    with refused(CODE.FAILED_PRECONDITION, naming=naming):
        a.ids()
    assert b.leaves() == ["data"]
    argv[argv.index("--node-id") + 1] = "b"
    b.node_daemon.stop()
    b.node_daemon.start()
    said(cluster, "agent is not refused any more", agent=f"unix://{b.agent_socket}")
    Volume(a, "data").delete()


def test_an_agent_that_is_down_is_not_lost_before_its_time(new_cluster):
    cluster = new_cluster(controller_args=(*QUICK, "--assume-lost", "3600"))
    a, b = cluster.hosts
    on(cluster, b, "data")
    b.node_daemon.kill()
    said(cluster, "agent is down", agent=f"unix://{b.agent_socket}")
    with refused(CODE.UNAVAILABLE, naming=b.agent_socket):
        Volume(a, "data").create()


def use(host, name):
    volume = Volume(host, name)
    volume.attach()
    volume.detach()


def made_again(cluster, used):
    """Create and use a volume on host b, which is lost then; create it again on host a, and use it
    there if `used`. Then b comes back."""
    a, b = cluster.hosts
    on(cluster, b, "data")
    use(b, "data")
    b.node_daemon.kill()
    said(cluster, "agent is assumed lost", agent=f"unix://{b.agent_socket}")
    wait_for(lambda: Volume(a, "data").start_create().code() == CODE.OK, "it is made again")
    assert a.leaves() == ["data"]
    if used:
        use(a, "data")
    b.restart(b.node_daemon)
    b.controller = a.controller
    said(cluster, "agent is not lost", agent=f"unix://{b.agent_socket}")


def test_a_volume_that_was_made_again_and_not_used_goes_to_the_trash(new_cluster):
    cluster = new_cluster(controller_args=(*QUICK, "--assume-lost", "2"))
    a, b = cluster.hosts
    made_again(cluster, used=False)

    def settled():
        return Volume(a, "data").start_create().code() == CODE.OK and \
            cluster.where().get("data") == ["b"]
    wait_for(settled, "the host that was away keeps it")
    assert len(trashed(a)) == 1
    use(b, "data")
    Volume(a, "data").delete()
    assert (len(trashed(a)), b.leaves()) == (1, [])


def test_an_agent_that_is_down_for_long_is_assumed_lost(new_cluster):
    cluster = new_cluster(controller_args=(*QUICK, "--assume-lost", "2"))
    a, b = cluster.hosts
    made_again(cluster, used=True)
    # Two volumes of one name exist, and only the operator can decide which one to keep.
    how = ("exists twice", a.agent_socket, b.agent_socket, "zfs rename")
    wait_for(lambda: Volume(a, "data").start_create().code() == CODE.FAILED_PRECONDITION,
             "the other is seen")
    for call in (Volume(a, "data").create, Volume(a, "data").delete,
                 lambda: Volume(a, "data").expand(1 << 30)):
        with refused(CODE.FAILED_PRECONDITION, naming=how):
            call()
    with refused(CODE.UNAVAILABLE, naming=how):
        Volume(b, "data").attach()
    health = a.controller.ControllerListVolumeHealth().entries
    assert [entry.health_statuses[0].reason for entry in health] == ["ExistsTwice"]
    assert (a.leaves(), b.leaves()) == (["data"], ["data"])
    run("zfs", "rename", b.dataset("data"), b.dataset("data-of-b"))
    b.node_daemon.signal(signal.SIGHUP)
    wait_for(lambda: Volume(a, "data").start_delete().code() == CODE.OK, "a person has decided")
    assert (a.leaves(), b.leaves()) == ([], ["data-of-b"])


def test_a_list_is_partial_only_with_partial_lists(new_cluster):
    for args, code in ((), CODE.UNAVAILABLE), (("--partial-lists",), CODE.OK):
        cluster = new_cluster(controller_args=args)
        a, b = cluster.hosts
        on(cluster, a, "on-a")
        on(cluster, b, "on-b")
        assert a.ids() == ["on-a", "on-b"]
        b.node_daemon.kill()
        if code is CODE.OK:
            assert a.ids() == ["on-a"]
            said(cluster, "list is incomplete", without=f"unix://{b.agent_socket}")
        else:
            with refused(code, naming=b.agent_socket):
                a.ids()
            # Calls that do not list are never partial.
        with refused(CODE.UNAVAILABLE, naming=b.agent_socket):
            Volume(a, "on-b").delete()
        with refused(CODE.UNAVAILABLE, naming=b.agent_socket):
            a.controller.GetCapacity()


@pytest.mark.parametrize("known", ["heard", "kept"])
def test_a_silent_host_stops_only_the_names_that_it_may_have(new_cluster, known):
    """The controller has heard the names of the host itself, or is started while the host is silent
    and gets them from another one."""
    cluster = new_cluster(n=3, controller_args=QUICK)
    a, b, c = cluster.hosts
    here = {"accessibility_requirements": topology("b")}
    take(on(cluster, a, "mine"))
    on(cluster, c, "data")
    on(cluster, c, "gone")
    kept(c, a)
    c.node_daemon.kill()
    if known == "kept":
        renew(cluster)
        said(cluster, "names of an absent host are loaded", node="c")
    Volume(a, "new").create(**here)
    take(Volume(a, "mine"), "another")
    for name in "data", "gone":
        with refused(CODE.UNAVAILABLE, naming=(c.agent_socket, "it is node 'c'")):
            Volume(a, name).create(**here)
    with refused(CODE.UNAVAILABLE, naming=c.agent_socket):
        Volume(a, "there").create(accessibility_requirements=topology("c"))
    # With two of three agents silent no name is known to be free.
    b.node_daemon.kill()
    with refused(CODE.UNAVAILABLE):
        Volume(a, "other").create(accessibility_requirements=topology("a"))
    for host in b, c:
        host.node_daemon.close()
        host.start_node()
    wait_for(lambda: Volume(a, "other").start_create(
        accessibility_requirements=topology("a")).code() == CODE.OK, "all are back")
    assert cluster.where() == {"data": ["c"], "gone": ["c"], "mine": ["a"], "new": ["b"],
                               "other": ["a"]}


@pytest.mark.parametrize("known", ["heard", "silent"])
def test_the_capacity_of_a_node_needs_no_other_node(new_cluster, known):
    """The other host has fallen silent, or is silent since the controller was started."""
    cluster = new_cluster(controller_args=QUICK)
    a, b = cluster.hosts
    said(cluster, "agent is up", agent=f"unix://{b.agent_socket}", node="b")
    b.node_daemon.kill()
    if known == "silent":
        renew(cluster)
    for asked in ({"accessible_topology": topology("a").requisite[0]},
                  {"parameters": {"node": "a"}}):
        assert a.controller.GetCapacity(**asked).available_capacity > 0
    for asked in ({"accessible_topology": topology("b").requisite[0]}, {}):
        with refused(CODE.UNAVAILABLE, naming=b.agent_socket):
            a.controller.GetCapacity(**asked)


def test_a_hung_agent_delays_the_others_only_once(new_cluster):
    cluster = new_cluster(controller_args=QUICK)
    a, b = cluster.hosts
    volume = on(cluster, a, "data")
    with b.frozen():
        said(cluster, "agent is down", agent=f"unix://{b.agent_socket}")
        a.controller.ControllerGetVolume(volume_id=volume.id, timeout=5)
        volume.attach(timeout=5)
        with refused(CODE.UNAVAILABLE, naming=b.agent_socket):
            a.controller.CreateVolume(**Volume(a, "new").request(), timeout=5)
    wait_for(lambda: Volume(a, "new").start_create().code() == CODE.OK, "b is back")


def test_agents_are_named_in_the_log(new_cluster):
    cluster = new_cluster(controller_args=QUICK)
    b = cluster.hosts[1]
    endpoint = f"unix://{b.agent_socket}"
    said(cluster, "agent is up", agent=endpoint, node="b", dataset=b.parent)
    b.node_daemon.kill()
    said(cluster, "agent is down", agent=endpoint)
    mark = cluster.daemons[0].mark()
    b.restart(b.node_daemon)
    said(cluster, "agent is up", since=mark, agent=endpoint)
