# SPDX-License-Identifier: MPL-2.0
"""`zcsi doctor` over TLS: a certificate is planted that is no good, and mended by the command that
the finding names, typed where the CA's key is."""
import shlex
import subprocess

import pytest

import certificates as made
from client import ROOT
from daemon import BUILD, wait_for
from test_doctor import findings
from test_tls import free_port

OURS = "controller.example"


class Site:
    """A host whose agent is called by TLS, and the folder with the files of its CA."""

    def __init__(self, folder, new_host):
        self.certs = made.make(folder / "certs")
        (folder / "jobs").symlink_to(ROOT / "jobs")
        self.folder = folder
        self.endpoint = f"tcp://127.0.0.1:{free_port()}"
        self.host = new_host(node_args=("--agent-endpoint", self.endpoint,
                                        *made.files(self.certs, "node.example")))

    def doctor(self):
        return findings(subprocess.run(
            [BUILD / "zcsi", "--agent", self.endpoint, *made.files(self.certs, OURS), "doctor",
             "-H"], capture_output=True, text=True, check=False))

    def mended(self, text, effect, line):
        [finding] = [each for each in self.doctor() if text in each.text]
        assert (finding.effect, finding.type) == (effect, line)
        subprocess.run(shlex.split(finding.type), cwd=self.folder, check=True)
        wait_for(lambda: self.doctor() == [], "nothing is found")


@pytest.fixture
def site(tmp_path, new_host):
    site = Site(tmp_path, new_host)
    site.host.start()
    wait_for(lambda: site.doctor() == [], "the agent answers")
    return site


def test_the_certificate_of_an_agent_ends_soon(site):
    made.grow_old(site.certs, "node.example", "DNS:node.example,IP:127.0.0.1", 5)
    wait_for(site.doctor, "the agent has it")
    site.mended("its certificate ends in 5 days", "may stop",
                "jobs/local/certs certs node.example,127.0.0.1")


def test_the_certificate_of_an_agent_has_ended(site):
    made.grow_old(site.certs, "node.example", "DNS:node.example,IP:127.0.0.1", -1)
    wait_for(site.doctor, "the agent has it")
    [finding] = site.doctor()
    assert finding.node == site.endpoint
    site.mended("its certificate ended at", "stops",
                "jobs/local/certs certs node.example,127.0.0.1")


def test_the_certificate_of_an_agent_is_for_another_host(site):
    made.grow_old(site.certs, "node.example", "DNS:node.example,IP:127.0.0.2", 300)
    wait_for(site.doctor, "the agent has it")
    site.mended("for node.example,127.0.0.2, not for '127.0.0.1'", "stops",
                "jobs/local/certs certs node.example,127.0.0.2,127.0.0.1")


@pytest.mark.parametrize("days,words,effect", [(9, "ends in 9 days", "may stop"),
                                               (-1, "ended at", "stops")])
def test_an_ending_certificate_of_zcsi_is_reported(site, days, words, effect):
    made.grow_old(site.certs, OURS, f"DNS:{OURS},IP:127.0.0.1", days)
    site.mended(f"the certificate of zcsi, '{site.certs}/{OURS}.pem', {words}", effect,
                f"jobs/local/certs certs {OURS},127.0.0.1")


def test_a_name_that_a_shell_would_run_is_in_no_command(site):
    made.grow_old(site.certs, "node.example", "DNS:node.example;reboot,IP:127.0.0.1", 5)
    wait_for(site.doctor, "the agent has it")
    [finding] = site.doctor()
    assert "ends in 5 days" in finding.text and finding.type == "-"
