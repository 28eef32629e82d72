# SPDX-License-Identifier: MPL-2.0
"""The rules of jobs/alerts.yaml: what promtool makes of them, and that they are whole."""
import re
import subprocess

import pytest

from client import ROOT
from daemon import BUILD
from prometheus import RULES
import tables

FOLDER = ROOT / "tests/alerts"
SEVERITIES = ("critical", "warning", "info")
# Labels that Prometheus adds to each series.
OWN = {"instance", "job"}


def promtool(*words):
    done = subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_are_well_formed():
    promtool("check", "rules", RULES)


@pytest.mark.parametrize("name", ["minutes", "days"])
def test_given_series_fire_the_expected_alerts(name):
    promtool("test", "rules", FOLDER / f"{name}.yaml")


def test_each_rule_is_given_series_that_make_it_fire():
    given = "".join((FOLDER / f"{name}.yaml").read_text() for name in ("minutes", "days"))
    assert set(re.findall(r'labels: .\{alertname="(\w+)"', given)) == \
        set(re.findall(r"alert: (\w+)", RULES.read_text()))


def labels_of(expression):
    """Return the labels that the metrics of an expression have."""
    known = tables.series()
    return OWN.union(*(known.get(name, ()) for name in re.findall(r"\w+", expression)))


def test_each_rule_has_all_that_an_operator_needs(watch):
    rules = watch.rules()
    assert len({rule["name"] for rule in rules}) == len(rules) > 30
    assert len(re.findall(r"^        for: \d+[mhd]$", RULES.read_text(), re.M)) == len(rules)
    for rule in rules:
        assert rule["labels"]["severity"] in SEVERITIES
        assert rule["annotations"].keys() == {"summary", "description"}
        assert "`" in rule["annotations"]["description"], "it names nothing to type"
        used = re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values()))
        assert set(used) <= labels_of(rule["query"]), rule["name"]


def test_each_command_of_zcsi_is_one():
    """The commands between backquotes are commands of zcsi, by its help."""
    help_text = subprocess.run([BUILD / "zcsi", "--help"], capture_output=True, text=True,
                               check=True).stdout
    known = set(re.findall(r"^  ([a-z]+) ", help_text, re.M))
    text = re.sub(r"\s+", " ", RULES.read_text())
    named = set(re.findall(r"`zcsi ([a-z]+)", text))
    assert {"doctor", "why", "resize"} <= named <= known
