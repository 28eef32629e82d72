# SPDX-License-Identifier: MPL-2.0
"""The dashboard jobs/grafana.json: a real Prometheus answers each of its queries with data, and it
and the rules name metrics that the daemons export, all of them."""
import json
import re
import urllib.request

import grpc
import pytest

from client import ROOT, refused
from daemon import wait_for
from host import Volume
from prometheus import RULES, WINDOW
from test_planted import emptied
import tables

CODE = grpc.StatusCode
TEXT = (ROOT / "jobs/grafana.json").read_text()
DASHBOARD = json.loads(TEXT)
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
TARGETS = [(panel["title"], target) for panel in PANELS for target in panel["targets"]]
ROWS = ["Pools", "Volumes", "Copies", "Backups", "Moves and owners", "Calls", "Agents",
        "zfs processes", "Daemons"]
VARIABLES = {"$instance": ".*", "$__rate_interval": WINDOW}
WIDTH = 24
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def filled(expression):
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    assert "$" not in expression
    return expression


def named(text):
    return set(re.findall(r"\b(?:zcsi|process)_[a-z_]+", text))


@pytest.fixture(scope="module")
def busy(host, watch):
    """A host with a volume, and calls that succeeded, failed and were refused."""
    volume = Volume(host, "data").up()
    with refused(CODE.NOT_FOUND):
        host.agent.GetDataset(id="nothing")
    with refused(CODE.UNIMPLEMENTED):
        host.node.CreateVolume(name="x")
    yield host
    volume.down().delete()
    emptied(host)


def is_answered(watch, target):
    series = watch.query(filled(target["expr"]))
    labels = re.findall(r"{{(\w+)}}", target["legendFormat"])
    return series and all(each.get(label) for each in series for label in labels)


def test_each_query_is_answered_with_data(busy, watch):
    for title, target in TARGETS:
        wait_for(lambda: is_answered(watch, target), f"{title}: {target['expr']}", pause=0.1)


def test_the_variables_are_answered(watch):
    [source, instance] = DASHBOARD["templating"]["list"]
    assert (source["name"], source["type"], source["query"]) == \
        ("datasource", "datasource", "prometheus")
    metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", instance["definition"]).groups()
    assert instance["query"]["query"] == instance["definition"]
    assert len({each[label] for each in watch.query(metric)}) == 2


def test_each_panel_uses_the_chosen_data_source():
    """Each panel takes the source that the reader has chosen."""
    assert set(re.findall(r'"uid": "(.*)"}', TEXT)) == {"${datasource}", "-- Grafana --"}
    assert all(target["datasource"] == SOURCE for _, target in TARGETS)


def test_panels_do_not_overlap():
    assert [p["title"] for p in DASHBOARD["panels"] if p["type"] == "row"] == ROWS
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    taken = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                 for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken and at["x"] + at["w"] <= WIDTH, panel["title"]
        taken |= cells
        assert panel["type"] == "row" or panel["description"].endswith("."), panel["title"]


def exported(daemon):
    """Return the families, and the names of the series, of a daemon's page."""
    with urllib.request.urlopen(f"http://127.0.0.1:{daemon.port}/metrics", timeout=20) as answer:
        lines = answer.read().decode().splitlines()
    return ({line.split()[2] for line in lines if line.startswith("# TYPE ")},
            {re.match(r"\w+", line)[0] for line in lines if not line.startswith("#")})


def test_rules_and_panels_name_what_is_exported_and_all_of_it(busy):
    families, series = map(set.union, exported(busy.node_daemon), exported(busy.controller_daemon))
    assert families == tables.metrics().keys()
    used = named(" ".join(re.findall(r'"expr": "(.*)"', TEXT)) + RULES.read_text())
    assert used <= tables.series().keys() | families
    assert {re.sub("_(bucket|sum|count)$", "", name) if name not in families else name
            for name in used} == families


def test_series_missing_with_zfs_fuse_are_listed(busy):
    """The list of tables.py is as short as it can be."""
    _, series = exported(busy.node_daemon)
    assert series.isdisjoint(tables.WITHOUT_SERIES)
