# SPDX-License-Identifier: MPL-2.0
"""Debian's Prometheus with the rules of jobs/alerts.yaml, at a test's pace: it looks each second,
alerts do not wait, and what counts over minutes counts over seconds."""
import json
import re
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from client import ROOT
from daemon import wait_for

RULES = ROOT / "jobs/alerts.yaml"
WINDOW = "10s"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def hurried(rules):
    """Return the text of the rules, without waiting."""
    return re.sub(r"\[\d+[mhd]\]", f"[{WINDOW}]", re.sub(r"for: \w+", "for: 0s", rules))


class Prometheus:
    """`targets` are HOST:PORT of the daemons' metrics; `others` are scraped by another job."""

    def __init__(self, folder, targets, others=()):
        self.folder = folder
        self.address = f"127.0.0.1:{free_port()}"
        (folder / "alerts.yaml").write_text(hurried(RULES.read_text()))
        jobs = {"zcsi": targets, "others": others}
        (folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s",
                       "evaluation_interval": "500ms"},
            "rule_files": ["alerts.yaml"],
            "scrape_configs": [{"job_name": job, "static_configs": [{"targets": list(each)}]}
                               for job, each in jobs.items()]}))
        self.log = open(folder / "prometheus.log", "wb")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml",
             f"--storage.tsdb.path={folder}/data", f"--web.listen-address={self.address}"],
            stdout=self.log, stderr=self.log)

    def start(self):
        wait_for(lambda: self.answers() or self.process.poll() is not None, "Prometheus answers")
        assert self.process.poll() is None, (self.folder / "prometheus.log").read_text()
        return self

    def answers(self):
        try:
            with urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=20):
                return True
        except urllib.error.URLError:
            return False

    def get(self, path, **words):
        """Return the data that the API answers. A query that it refuses fails the test."""
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(words)}"
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{words}: {error.read().decode()}") from error

    def query(self, expression):
        """Return the labels of each series that the query answers now."""
        return [each["metric"] for each in self.get("query", query=expression)["result"]]

    def rules(self):
        """Return all alerting rules, as Prometheus has read them."""
        return [rule for group in self.get("rules")["groups"] for rule in group["rules"]]

    def firing(self):
        """Return {name: annotations} of the alerts of the daemons that fire."""
        return {each["labels"]["alertname"]: each["annotations"]
                for each in self.get("alerts")["alerts"]
                if each["state"] == "firing" and each["labels"].get("job") != "others"}

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()
