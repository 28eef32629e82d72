# SPDX-License-Identifier: MPL-2.0
"""The guide, jobs/README.md, typed from top to bottom on three new hosts with Nomad. Each command
has to end with 0, and to print what the guide shows. The transcript is build/guide.txt."""
import contextlib
import json
import time
from collections import Counter

import pytest

from daemon import BUILD
from fresh_host import FreshHost, Network
import guide
from guide import Command
from host import run
from nomad import chroot, until

# Settings of Nomad that the guide's reader has no need of: its tasks get few files of the host, and
# it does not look for a cloud, for Consul or for Vault.
MORE = {"disable_update_check": True,
        "client": {"chroot_env": chroot(),
                   "options": {"fingerprint.denylist":
                               "env_aws,env_azure,env_digitalocean,env_gce,consul,vault"}}}
# The program that systemd would run after each of these commands.
STARTS = {"systemctl enable --now nomad": "nomad agent -config /etc/nomad.d",
          "systemctl restart prometheus":
              "prometheus --config.file=/etc/prometheus/prometheus.yml "
              "--storage.tsdb.path=/var/lib/prometheus"}
NOMAD_RELOADS = "systemctl reload nomad"
NOT_TYPED = 56  # commands; each that is added needs a reason in the guide


@pytest.fixture
def hosts(folder):
    own = folder / "guide"
    own.mkdir()
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", own / "key")
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.closing(Network()))
        made = [stack.enter_context(contextlib.closing(FreshHost(number, own)))
                for number in range(3)]
        for host in made:
            host.booted()
            host.write("/etc/nomad.d/test.json", json.dumps(MORE))
        yield made


class Reader:
    """Does what the guide says, on the hosts, and writes what it sees to `transcript`."""

    def __init__(self, hosts, transcript):
        self.hosts = hosts
        self.transcript = transcript
        self.begin = time.monotonic()
        self.section = None
        self.reasons = guide.left_out()
        self.not_typed = Counter()

    def note(self, *lines):
        self.transcript.write("".join(line if line.endswith("\n") else f"{line}\n"
                                      for line in lines if line))
        self.transcript.flush()

    def do(self, step):
        if step.section != self.section:
            self.section = step.section
            self.note(f"\n==== {self.section}")
        left_out = isinstance(step, Command) and next(
            (words for words in self.reasons if step.text.startswith(words)), None)
        hosts = self.hosts if step.each else self.hosts[:1]
        if left_out:
            self.not_typed[left_out] += 1
            self.note(f"not typed: {step.text}", f"    {self.reasons[left_out]}")
        for host in hosts:
            if not isinstance(step, Command):
                host.write(step.path, step.text)
                self.note(f"{host.name}: {step.path} is written")
            elif not left_out:
                self.type(host, step)
            elif step.text in STARTS:
                host.start(STARTS[step.text])
            elif step.text == NOMAD_RELOADS:
                assert host.shell.type("pkill -HUP -f '^nomad agent'")[0] == 0

    def filled(self, text):
        """Return the command with the id of a running allocation where the guide says ALLOC."""
        if "ALLOC" not in text:
            return text

        def running():
            listed = self.hosts[0].shell.type("nomad job allocs -json zcsi-controller")[1]
            return [each["ID"] for each in json.loads(listed) if each["ClientStatus"] == "running"]
        return text.replace("ALLOC", until(running, "an allocation of zcsi-controller runs")[0])

    def type(self, host, command):
        text = self.filled(command.text)
        seen = [0, ""]

        def done():
            seen[:] = host.shell.type(text)
            return seen[0] == 0 and (not command.output or command.shows(seen[1]))
        self.note(f"[{time.monotonic() - self.begin:5.1f}] {host.name}# {text}")
        if command.aside:
            host.start(text)
            return
        try:
            assert until(done, "it is done", pause=1) if command.again else done()
        except AssertionError:
            shown = f"the guide shows\n{command.output}" if command.output else ""
            pytest.fail(f"jobs/README.md:{command.line}, on {host.name}: {text}\nended with "
                        f"{seen[0]} and printed\n{seen[1]}{shown}", pytrace=False)
        finally:
            self.note(seen[1])

    def counted(self):
        """Return a line for each reason, with the number of commands that were not typed."""
        reasons = Counter()
        for words, count in self.not_typed.items():
            reasons[self.reasons[words]] += count
        return [f"{count} not typed: {why}" for why, count in reasons.items()]


def test_the_guide_is_typed_from_top_to_bottom(hosts, capsys):
    with open(BUILD / "guide.txt", "w", encoding="utf-8") as transcript:
        reader = Reader(hosts, transcript)
        for step in guide.steps():
            reader.do(step)
        reader.note("\n==== Not typed", *reader.counted())
    with capsys.disabled():
        print("", *reader.counted(), sep="\n")
    assert reader.not_typed.total() == NOT_TYPED
    assert reader.not_typed.keys() == reader.reasons.keys()  # the guide lists no other


@pytest.mark.parametrize("shown, printed, same", [
    ("nothing is wrong", "nothing is wrong\n", True),
    ("nothing is wrong", "nothing is wrong\nmore\n", False),
    ("Healthy = 2", "Healthy    = 2\n", True),
    ("Healthy = 2", "Healthy    = 23\n", False),
    ("...\nHealthy = 2\n...", "first\n\nHealthy = 2\n", True),
    ("...\nHealthy = 2\n...", "first\n\nlast\n", False),
    ("ID ...\n... ready\n... ready", "ID Name\n1 a ready\n2 b ready\n", True),
    ("ID ...\n... ready\n... ready", "ID Name\n1 a ready\n", False)])
def test_dots_stand_for_words_and_lines(shown, printed, same):
    command = Command(1, "zcsi doctor", "section", output=f"{shown}\n")
    assert command.shows(printed) == same
