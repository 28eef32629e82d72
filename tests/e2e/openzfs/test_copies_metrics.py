# SPDX-License-Identifier: MPL-2.0
"""The metrics of copies, and the same figures by `zcsi copies`: how far a copy is behind, in
seconds and in bytes, while its pushes succeed, fail and are paused."""
import json
import re
import time

import pytest

from client import MIB
from copies import in_use, RECEIVE, write
from daemon import wait_for
from host import get
from pages import page

EVERY = 10
WRITTEN = 2 * MIB
SERIES = re.compile(r'^zcsi_copy_(\w+)\{volume="data",node="n2"\} (\S+)$', re.M)
COUNTER = re.compile(r'^zcsi_copy_(\w+_total)(?:\{outcome="(\w+)"\})? (\S+)$', re.M)


def serve_metrics(pair):
    daemon = pair.owner.node_daemon
    daemon.metrics = f"{pair.owner.folder}/metrics"
    daemon.argv += ["--metrics", f"unix://{daemon.metrics}"]
    daemon.kill()
    pair.owner.restart(daemon)


@pytest.fixture
def volume(pair):
    """A volume that is in use, on a host whose zcsi-node serves metrics."""
    serve_metrics(pair)
    with in_use(pair) as made:
        yield made


def told(pair):
    """Return the page of metrics of the host with the volume."""
    status, text = page(pair.owner.node_daemon, "/metrics")
    assert status == 200
    return text


def of_copy(pair):
    """Return {name: value} of the metrics of the copy, without zcsi_copy_."""
    return {name: float(value) for name, value in SERIES.findall(told(pair))}


def counted(pair):
    """Return {(name, outcome): value} of the counters, without zcsi_copy_."""
    return {found[:2]: float(found[2]) for found in COUNTER.findall(told(pair))}


def lag_is(pair, least, most):
    """True if the lag in bytes is known, and between these."""
    return least <= of_copy(pair).get("lag_bytes", -1) <= most


def row_of(pair):
    [row] = [line.split("\t") for line in pair.run("copies", "-Hp").stdout.splitlines()]
    return row


def test_metrics_show_an_up_to_date_copy(pair, volume):
    assert of_copy(pair) == {}
    assert counted(pair) == {("pushes_total", "ok"): 0, ("pushes_total", "failed"): 0,
                             ("sent_bytes_total", ""): 0}
    begun = time.time()
    write(volume, "one", WRITTEN)
    pair.owner.agent.AddMember(id="data", node_id="n2", every=EVERY)
    pair.sync()
    seen = of_copy(pair)
    assert (seen["lag_allowed_seconds"], seen["failing"], seen["paused"]) == (EVERY, 0, 0)
    assert begun - 1 <= seen["synced_timestamp_seconds"] <= time.time()
    assert 0 <= seen["lag_seconds"] <= time.time() - begun + 1
    assert counted(pair)["pushes_total", "ok"] >= 1
    assert counted(pair)["sent_bytes_total", ""] >= WRITTEN
    wait_for(lambda: lag_is(pair, 0, 0), "nothing was written since", seconds=60)
    wait_for(lambda: row_of(pair)[5:7] == ["0", "ok"], "zcsi says so too", seconds=60)


def test_failed_pushes_are_counted(pair, volume):
    pair.owner.agent.AddMember(id="data", node_id="n2", every=EVERY)
    pair.sync()
    before = of_copy(pair)
    pair.other.node_daemon.kill()
    write(volume, "one", WRITTEN)
    wait_for(lambda: of_copy(pair)["failing"] and lag_is(pair, WRITTEN, 2 * WRITTEN),
             "pushes fail, and the lag in bytes is known", seconds=120)
    name = pair.owner.dataset("data")
    wait_for(lambda: of_copy(pair).get("lag_bytes") == int(get(name, "written#_repl-n2")),
             "the lag is what ZFS says", seconds=60)
    assert counted(pair)["pushes_total", "failed"] >= 1
    assert WRITTEN <= int(row_of(pair)[5]) < 2 * WRITTEN
    [copy] = json.loads(pair.run("copies", "-o", "json").stdout)["copies"]
    assert WRITTEN <= copy["unsent"] < 2 * WRITTEN
    assert re.search(r" 2\.\d+M ", pair.run("copies").stdout)
    wait_for(lambda: of_copy(pair)["lag_seconds"] > 2 * EVERY, "the lag grows", seconds=60)
    write(volume, "two", WRITTEN)
    wait_for(lambda: lag_is(pair, 2 * WRITTEN, 3 * WRITTEN), "it grows in bytes", seconds=60)
    pair.other.restart(pair.other.node_daemon)
    pair.sync()
    wait_for(lambda: lag_is(pair, 0, 0), "nothing was written since", seconds=60)
    after = of_copy(pair)
    assert after["failing"] == 0
    assert after["synced_timestamp_seconds"] > before["synced_timestamp_seconds"]


def test_metrics_show_a_paused_copy(pair, volume):
    pair.owner.agent.AddMember(id="data", node_id="n2", every=EVERY)
    pair.sync()
    pair.zcsi("pause", "data")
    write(volume, "one", WRITTEN)
    wait_for(lambda: lag_is(pair, WRITTEN, 2 * WRITTEN), "the lag is known", seconds=60)
    assert of_copy(pair)["paused"] == 1
    assert row_of(pair)[6] == "paused"
    pair.zcsi("resume", "data")
    pair.sync()
    wait_for(lambda: lag_is(pair, 0, 0), "nothing was written since", seconds=60)
    assert of_copy(pair)["paused"] == 0


def test_a_copy_that_is_not_complete_has_no_lag(new_pair, gate):
    with new_pair(other_env=gate.env) as pair:
        serve_metrics(pair)
        with in_use(pair):
            gate.hold(RECEIVE)
            pair.owner.agent.AddMember(id="data", node_id="n2", every=EVERY)
            gate.arrived()
            assert of_copy(pair) == {"lag_allowed_seconds": EVERY, "failing": 0, "paused": 0}
            assert row_of(pair)[3:6] == ["-", "-", "-"]
            gate.open()
            wait_for(lambda: lag_is(pair, 0, 0), "the copy is complete", seconds=60)
