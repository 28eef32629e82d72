# SPDX-License-Identifier: MPL-2.0
"""The daemons' metrics, compared with the log, with ZFS and with each other. Each page is read by
Prometheus' own parser for Python."""
import collections
import math
import os
import re
import signal
import socket
import subprocess
import threading

import grpc
import pytest
from prometheus_client.parser import text_string_to_metric_families

from client import MIB, ROOT, refused
from daemon import Daemon, wait_for
from host import get, SIZE, Volume
from pages import page

CODE = grpc.StatusCode


def check_heads(text):
    """Check that each family is contiguous and begins with its HELP and TYPE."""
    seen, current = set(), None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current = line.split()[2]
            assert current not in seen and len(line.split()) > 3
            seen.add(current)
        elif line.startswith("# TYPE "):
            assert line.split()[2] == current
        else:
            assert line.startswith(current)
    return seen


def check_histogram(samples):
    series = collections.defaultdict(dict)
    for name, labels, value, *_ in samples:
        rest = tuple(sorted((k, v) for k, v in labels.items() if k != "le"))
        series[rest][labels.get("le", name.rsplit("_", 1)[1])] = value
    for values in series.values():
        bounds = sorted((float(le), n) for le, n in values.items() if le not in ("sum", "count"))
        counts = [n for _, n in bounds]
        assert bounds[-1][0] == math.inf and counts == sorted(counts)
        assert counts[-1] == values["count"]
        assert values["count"] or not values["sum"]


class Scrape(dict):
    """A page of metrics: {(name, label values in order): value}."""

    def __init__(self, daemon):
        super().__init__()
        status, self.text = page(daemon, "/metrics")
        assert status == 200
        self.families = heads = check_heads(self.text)
        for family in text_string_to_metric_families(self.text):
            assert family.type in ("counter", "gauge", "histogram") and family.documentation
            assert family.name in heads or family.name + "_total" in heads
            if family.type == "histogram":
                check_histogram(family.samples)
            for sample in family.samples:
                assert family.type != "counter" or sample.name.endswith("_total")
                key = (sample.name, *sample.labels.values())
                assert key not in self, "a series is told twice"
                self[key] = sample.value

    def of(self, name):
        """Return {label values: value} of the family."""
        return {key[1:]: value for key, value in self.items() if key[0] == name}


@pytest.fixture
def monitored(new_host):
    """A function that returns a host, not yet started, whose daemons serve metrics. After the first
    roll call, which precedes all calls, the controller sends nothing to an agent by itself."""
    def make(**kwargs):
        made = new_host(controller_args=("--roll-call", "3600"), **kwargs)
        for daemon in (made.node_daemon, made.controller_daemon):
            daemon.metrics = f"{made.folder}/{daemon.name}.metrics"
            daemon.argv += ["--metrics", f"unix://{daemon.metrics}"]
        return made
    return make


def rpcs(daemon):
    """Return two counters from the log: of calls by (service, method, code), and of refused
    requests, whose method is logged as a path, by (code,)."""
    calls, refusals = collections.Counter(), collections.Counter()
    for line in daemon.log():
        if line["msg"] == "rpc" and line["method"].startswith("/"):
            refusals[line["code"],] += 1
        elif line["msg"] == "rpc":
            calls[(*line["method"].split("/"), line["code"])] += 1
    return calls, refusals


def runs(daemon):
    """Return a counter of (command, verb) of the processes in the log."""
    return collections.Counter(tuple(argv.split()[:2]) for argv in daemon.runs())


def without_last(counts):
    """Return the counts, summed over the last label."""
    found = collections.Counter()
    for (*labels, _), value in counts.items():
        found[tuple(labels)] += value
    return found


def test_counts_are_those_of_the_log(monitored):
    host = monitored().start()
    volumes = [Volume(host, f"v{n}").up() for n in range(3)]
    with refused(CODE.ALREADY_EXISTS):
        Volume(host, "v0", size=2 * SIZE).create()
    with refused(CODE.UNIMPLEMENTED):
        host.node.CreateVolume(name="x")
    volumes[0].down().delete()
    for daemon in (host.node_daemon, host.controller_daemon):
        scrape = Scrape(daemon)
        calls, refusals = rpcs(daemon)
        assert scrape.of("zcsi_rpc_calls_total") == calls
        assert scrape.of("zcsi_rpc_refused_total") == refusals
        assert scrape.of("zcsi_rpc_duration_seconds_count") == without_last(calls)
    creations = "zcsi_rpc_calls_total", "csi.v1.Controller", "CreateVolume"
    assert (scrape[*creations, "OK"], scrape[*creations, "ALREADY_EXISTS"]) == (3, 1)
    assert Scrape(host.node_daemon).of("zcsi_rpc_refused_total") == {("UNIMPLEMENTED",): 1}


def test_processes_are_those_of_the_log(monitored):
    host = monitored(node_args=("--rescan", "3600")).start()
    for n in range(3):
        Volume(host, f"v{n}").create()
    Volume(host, "v0").delete()

    def is_true():
        told = Scrape(host.node_daemon).of("zcsi_zfs_processes_total")
        return without_last(told) == runs(host.node_daemon)
    wait_for(is_true, "no process runs, and all are counted")
    scrape = Scrape(host.node_daemon)
    assert scrape["zcsi_zfs_processes_total", "zfs", "create", "ok"] == 3
    assert scrape["zcsi_zfs_processes_total", "zfs", "destroy", "ok"] == 1
    assert scrape["zcsi_zfs_process_duration_seconds_count", "zfs", "create"] == 3
    spent = scrape["zcsi_zfs_process_duration_seconds_sum", "zfs", "create"]
    answered = scrape["zcsi_rpc_duration_seconds_sum", "zcsi.v1.Agent", "CreateDataset"]
    assert 0 < spent < answered


def test_volume_metrics_are_those_of_zfs(monitored):
    host = monitored(node_args=("--rescan", "1")).start()
    volume = Volume(host, 'data "1"\\n').up()
    Volume(host, "other", size=2 * SIZE).create()
    with open(f"{volume.target}/file", "wb") as file:
        file.write(os.urandom(MIB))
        os.fsync(file.fileno())
    host.controller.CreateSnapshot(source_volume_id=volume.id, name="s")
    leaf, = (name for name in host.leaves() if name.startswith("data"))
    dataset = host.dataset(leaf)

    def is_told():
        scrape = Scrape(host.node_daemon)
        told = [scrape.get((f"zcsi_volume_{name}_bytes", volume.id))
                for name in ("size", "used", "available")]
        return told == [SIZE, int(get(dataset, "used")), int(get(dataset, "available"))]
    wait_for(is_told, "the figures of zfs")
    scrape = Scrape(host.node_daemon)
    assert scrape["zcsi_volume_used_bytes", volume.id] > MIB
    assert scrape["zcsi_volume_size_bytes", "other"] == 2 * SIZE
    assert scrape["zcsi_volumes_size_bytes", host.parent] == 3 * SIZE
    assert scrape["zcsi_volumes", host.parent] == 2
    assert scrape["zcsi_snapshots", host.parent] == 1
    assert scrape["zcsi_pool_usable", host.parent] == 1
    assert 0 < scrape["zcsi_pool_available_bytes", host.parent] < \
        scrape["zcsi_pool_size_bytes", host.parent] < 1024 * MIB
    read = scrape["zcsi_catalog_read_timestamp_seconds", host.parent]
    wait_for(lambda: Scrape(host.node_daemon)["zcsi_catalog_read_timestamp_seconds", host.parent]
             > read, "the next reading")
    volume.down().delete()
    scrape = Scrape(host.node_daemon)
    assert scrape["zcsi_trashed_volumes", host.parent] == 1
    assert ("zcsi_volume_size_bytes", volume.id) not in scrape


def test_counters_grow_while_volumes_are_created(monitored):
    host = monitored().start()
    before = Scrape(host.node_daemon)
    seen, stop = [before], threading.Event()

    def scrape():
        while not stop.is_set():
            seen.append(Scrape(host.node_daemon))
    scraper = threading.Thread(target=scrape)
    scraper.start()
    calls = [Volume(host, f"v{n}").start_create() for n in range(30)]
    assert {call.code() for call in calls} == {CODE.OK}
    stop.set()
    scraper.join()
    seen.append(Scrape(host.node_daemon))
    assert len(seen) > 5
    for one, next_one in zip(seen, seen[1:]):
        for key, value in one.items():
            if key[0].endswith(("_total", "_bucket", "_count")):
                assert next_one[key] >= value, key
    assert seen[-1]["zcsi_volumes", host.parent] == 30
    assert seen[-1]["zcsi_rpc_calls_total", "zcsi.v1.Agent", "CreateDataset", "OK"] == 30
    assert seen[-1]["zcsi_rpc_in_flight",] == 0
    # Each call obtained its key without waiting.
    assert seen[-1]["zcsi_rpc_key_wait_seconds_count",] >= 60


def test_a_scrape_does_not_wait_for_zfs_and_counts_waiting_calls(monitored, gate):
    host = monitored(env=gate.env).start()
    gate.hold("/data ")
    call = Volume(host, "data").start_create()
    gate.arrived()
    behind = host.agent.GetDataset.future(id="data")
    wait_for(lambda: Scrape(host.node_daemon)["zcsi_rpc_in_flight",] == 2, "both calls")
    assert page(host.node_daemon, "/health/live") == (200, "live\n")
    assert page(host.node_daemon, "/health/ready") == (200, "ready\n")
    blocked = Scrape(host.node_daemon)
    gate.open()
    assert call.result() and behind.result()
    done = Scrape(host.node_daemon)
    assert done["zcsi_rpc_in_flight",] == 0
    for name in ("key", "queue"):
        waits = [f"zcsi_rpc_{name}_wait_seconds_{what}" for what in ("count", "sum")]
        assert done[waits[0],] == blocked[waits[0],] + 1
        assert done[waits[1],] > blocked[waits[1],]
    # The wait for a key is part of the wait for a worker.
    assert done["zcsi_rpc_queue_wait_seconds_sum",] >= done["zcsi_rpc_key_wait_seconds_sum",]


def test_connections_and_bytes_are_counted(monitored):
    host = monitored().start()
    endpoint = f"unix://{host.agent_socket}"

    def connected():
        """Return the page when only the test and the controller are connected."""
        scrape = Scrape(host.node_daemon)
        return scrape["zcsi_connections_open", endpoint] == 2 and scrape
    before = wait_for(connected, "the controller calls the roll")
    raw = socket.socket(socket.AF_UNIX)
    raw.connect(host.agent_socket)
    raw.sendall(b"GET / HTTP/1.1\r\n\r\n")
    raw.recv(1 << 16)
    raw.close()
    other = host.node_daemon.client(endpoint.replace("unix://", "unix:"))
    assert other.GetHost().node_id == "n1"
    other.close()
    after = wait_for(connected, "both are gone")
    accepted = [s["zcsi_connections_accepted_total", endpoint] for s in (before, after)]
    assert accepted[1] == accepted[0] + 2
    assert after["zcsi_connections_closed_total", endpoint, "handshake"] == \
        before.get(("zcsi_connections_closed_total", endpoint, "handshake"), 0) + 1
    assert after["zcsi_connections_closed_total", endpoint, "peer"] > \
        before.get(("zcsi_connections_closed_total", endpoint, "peer"), 0)
    assert sum(after.of("zcsi_connections_closed_total").values()) == \
        sum(after.of("zcsi_connections_accepted_total").values()) - \
        sum(after.of("zcsi_connections_open").values())
    for name in ("received", "sent"):
        key = f"zcsi_connections_{name}_bytes_total", endpoint
        assert after[key] > before[key] + 18


def test_a_missing_pool_is_not_ready(monitored, pools):
    pool = f"e2escrape{os.getpid()}"
    host = monitored(node_args=("--rescan", "1"))
    daemon = host.node_daemon
    daemon.argv[daemon.argv.index("--dataset") + 1] = f"{pool}/zcsi"
    daemon.start()
    wait_for(lambda: "is still being read" not in page(daemon, "/health/ready")[1],
             "it has looked")
    status, reason = page(daemon, "/health/ready")
    assert status == 503 and pool in reason and reason.count("\n") == 1
    assert page(daemon, "/health/live") == (200, "live\n")
    scrape = Scrape(daemon)
    assert scrape["zcsi_pool_usable", f"{pool}/zcsi"] == 0
    assert scrape["zcsi_catalog_read_timestamp_seconds", f"{pool}/zcsi"] == 0
    assert scrape["zcsi_zfs_processes_total", "zpool", "get", "refused"] > 0
    assert not scrape.of("zcsi_pool_available_bytes")
    pools.create(pool, megabytes=128)
    wait_for(lambda: page(daemon, "/health/ready") == (200, "ready\n"), "the pool is found")
    assert Scrape(daemon)["zcsi_pool_usable", f"{pool}/zcsi"] == 1


def test_a_node_without_a_dataset_is_ready(monitored):
    host = monitored()
    daemon = host.node_daemon
    at = daemon.argv.index("--dataset")
    del daemon.argv[at:at + 2]
    daemon.start()
    assert page(daemon, "/health/ready") == (200, "ready\n")
    assert not any(key[0].startswith(("zcsi_pool", "zcsi_volume")) for key in Scrape(daemon))


def test_missing_programs_are_counted(monitored, tmp_path):
    host = monitored(env={"PATH": str(tmp_path)})
    host.node_daemon.start()
    wait_for(lambda: page(host.node_daemon, "/health/ready")[1].startswith("the program 'zpool'"),
             "it has looked")
    assert Scrape(host.node_daemon)["zcsi_zfs_processes_total", "zpool", "get", "not_run"] > 0


def test_reachable_and_unreachable_agents_are_counted(monitored):
    host = monitored(agents=["unix:///nobody/agent.sock"])
    here, gone = f"unix://{host.agent_socket}", "unix:///nobody/agent.sock"
    host.start()
    with refused(CODE.UNAVAILABLE):
        Volume(host, "data").create()
    scrape = Scrape(host.controller_daemon)
    assert (scrape["zcsi_agents",], scrape["zcsi_agents_reachable",]) == (2, 1)
    assert scrape.of("zcsi_agent_up") == {(here,): 1, (gone,): 0}
    assert [key[:2] for key in scrape.of("zcsi_agent_info")] == [(here, "n1")]
    assert abs(scrape["zcsi_agent_clock_skew_seconds", here]) < 1
    assert scrape.of("zcsi_agent_refused") == {(here,): 0, (gone,): 0}
    assert scrape["zcsi_client_connects_total", here] == 1
    assert scrape["zcsi_client_connect_failures_total", here] == 0
    assert scrape["zcsi_client_connects_total", gone] == \
        scrape["zcsi_client_connect_failures_total", gone] > 0


def test_a_stopping_daemon_is_not_ready(monitored, gate):
    host = monitored(env=gate.env).start()
    gate.hold("/data ")
    call = Volume(host, "data").start_create()
    gate.arrived()
    for daemon in (host.node_daemon, host.controller_daemon):
        assert page(daemon, "/health/ready") == (200, "ready\n")
        daemon.signal(signal.SIGTERM)
        wait_for(lambda: page(daemon, "/health/ready") == (503, "it is stopping\n"),
                 "it is stopping")
        assert page(daemon, "/health/live") == (200, "live\n")
    gate.open()
    assert call.code() == CODE.OK
    for daemon in (host.node_daemon, host.controller_daemon):
        assert daemon.wait() == 0
        daemon.close()


def test_the_man_pages_list_all_metrics(monitored):
    host = monitored(node_args=("--overcommit", 2, "--limit", "data=1G")).start()
    pages = "".join((ROOT / page).read_text()
                    for page in ("node/zcsi-node.8", "controller/zcsi-controller.8"))
    assert set(re.findall(r"\b(?:zcsi|process)_\w+", pages)) == \
        Scrape(host.node_daemon).families | Scrape(host.controller_daemon).families


def test_without_metrics_no_socket_is_made(host):
    sockets = sorted(name for name in os.listdir(host.folder) if name.endswith((".sock", "ics")))
    assert sockets == ["agent.sock", "zcsi-controller.sock", "zcsi-node.sock"]


def test_the_metrics_endpoint_can_come_from_the_environment(tmp_path):
    daemon = Daemon("zcsi-controller", tmp_path, env={"ZCSI_METRICS": f"unix://{tmp_path}/m.sock"})
    daemon.metrics = tmp_path / "m.sock"
    daemon.start()
    scrape = Scrape(daemon)
    version = subprocess.run([daemon.argv[0], "--version"], capture_output=True, text=True)
    assert scrape["zcsi_build_info", version.stdout.split()[1]] == 1
    assert scrape["process_threads",] == len(os.listdir(f"/proc/{daemon.process.pid}/task"))
    daemon.stop()
