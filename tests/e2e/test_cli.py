# SPDX-License-Identifier: MPL-2.0
"""The program zcsi against real agents: what it prints, and its exit status."""
import json
import os
import subprocess

import pytest

from client import MIB
from daemon import BUILD
from host import get, KERNEL_ZFS, run


def zcsi(host, *args, agents=(), status=0, stdout=False):
    """Run zcsi with the host's agent and others. Return its stdout, or its stderr if the expected
    exit status is not 0 and `stdout` is false."""
    words = [word for agent in (f"unix://{host.agent_socket}", *agents)
             for word in ("--agent", agent)]
    done = subprocess.run([BUILD / "zcsi", *words, *args], capture_output=True, text=True,
                          check=False)
    assert done.returncode == status, done
    if status and not stdout:
        return done.stderr
    assert done.stderr == ""
    return done.stdout


def rows(text):
    return [line.split("\t") for line in text.splitlines()]


def test_list_has_the_volumes_of_all_nodes(host, other, volume):
    volume.create()
    other.agent.CreateDataset(id="away", size=16 * MIB)
    volume.attach()
    listed = rows(zcsi(host, "list", "-Hp", agents=[f"unix://{other.agent_socket}"]))
    assert [(row[0], row[1], row[3], row[7]) for row in listed] == [
        ("away", "n2", str(16 * MIB), "-"), ("data", "n1", str(8 * MIB), "n1")]
    table = zcsi(host, "list").splitlines()
    assert table[0].split()[:4] == ["VOLUME", "NODE", "FORMAT", "SIZE"]
    assert table[1].split()[:4] == ["data", "n1", "zfs", "8.00M"]


def test_snapshots_lists_those_of_a_volume(host):
    host.agent.CreateDataset(id="data", size=8 * MIB)
    for name in ("s0", "s1"):
        host.agent.SnapshotDataset(id="data", name=name)
    listed = rows(zcsi(host, "snapshots", "data", "-Hp"))
    assert [(row[1], row[2], row[5]) for row in listed] == [
        ("data", "n1", "s0"), ("data", "n1", "s1")]
    assert rows(zcsi(host, "snapshots", "none", "-Hp")) == []


def test_show_has_all_about_a_volume(host, volume):
    volume.create(parameters={"zfs.compression": "zle"})
    shown = dict(rows(zcsi(host, "show", "data", "-Hp")))
    assert shown["dataset"] == host.dataset("data")
    assert "zfs.compression=zle" in shown["parameters"].split(",")
    assert json.loads(zcsi(host, "show", "data", "-o", "json"))["volume"]["size"] == 8 * MIB
    assert "'none' does not exist" in zcsi(host, "show", "none", status=1)


def test_parameters_are_modified(host, volume, dataset):
    volume.create()
    assert zcsi(host, "modify", "data", "zfs.compression=zle", "sync_every=2m",
                "zfs.user.site:owner=a=b") == ""
    assert get(dataset, "compression") == "zle"
    assert get(dataset, "zcsi:push") == "every=120"
    assert get(dataset, "site:owner") == "a=b"


@pytest.mark.parametrize("word, said", [
    ("zfs.atime=maybe", "zfs.atime cannot be 'maybe'"), ("zfs.atime", "is not KEY=VALUE"),
    ("zfs.compression=lz4", "given twice"), ("replicas=2", "zcsi copy add"),
    ("attach=nfs", "cannot be changed"), ("zfs.volblocksize=4k", "cannot be changed"),
    *([] if KERNEL_ZFS else [("follow=anywhere", "zfs-fuse")])])
def test_a_wrong_parameter_modifies_nothing(host, volume, dataset, word, said):
    volume.create()
    assert said in zcsi(host, "modify", "data", "zfs.compression=zle", word, status=1)
    assert get(dataset, "compression") != "zle"


def test_a_duplicate_is_printed_with_its_hosts(host, other):
    for each in (host, other):
        each.agent.CreateDataset(id="twice", size=8 * MIB)
    both = [f"unix://{other.agent_socket}"]
    assert "on 'n1' and on 'n2'" in zcsi(host, "show", "twice", agents=both, status=1)
    assert zcsi(host, "status", agents=both, status=3) == ""


def test_an_agent_that_is_down_is_named(host, volume, tmp_path):
    """zcsi prints which agent does not answer, and reports no volume as nonexistent."""
    volume.create()
    down = [f"unix://{tmp_path}/none.sock"]
    text = zcsi(host, "list", agents=down, status=3)
    assert f"the answer of '{down[0]}' is missing" in text
    assert "is on no agent that answers" in zcsi(host, "show", "gone", agents=down, status=1)
    done = subprocess.run([BUILD / "zcsi", "--agent", f"unix://{host.agent_socket}", "--agent",
                           down[0], "status", "-o", "json"], capture_output=True, check=False)
    printed = json.loads(done.stdout)
    assert done.returncode == 3 and done.stderr == b""
    assert [row["volume"] for row in printed["volumes"]] == ["data"]
    assert [each["agent"] for each in printed["silent"]] == down


def test_nodes_lists_the_pools(host):
    (node,) = rows(zcsi(host, "nodes", "-Hp"))
    assert node[:3] == ["n1", f"unix://{host.agent_socket}", host.parent]
    assert int(node[3]) > 0 and node[5] == "ok"


def test_the_agents_file_names_the_agents(host, tmp_path):
    path = tmp_path / "agents"
    path.write_text(f"# this host\nunix://{host.agent_socket}\n")
    done = subprocess.run([BUILD / "zcsi", "--agents-file", path, "nodes", "-H"],
                          capture_output=True, text=True, check=True)
    assert done.stdout.startswith("n1\t")
    path.write_text("# none\n")
    done = subprocess.run([BUILD / "zcsi", "--agents-file", path, "nodes"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "names no agent" in done.stderr


@pytest.mark.parametrize("words, text", [
    ([], "no command is given"),
    (["lst"], "unknown command 'lst'"),
    (["show"], "usage: zcsi show VOLUME"),
    (["list", "all"], "usage: zcsi list"),
    (["list", "-o", "xml"], "neither table nor json"),
    (["list", "--timeout", "0"], "not a number of seconds"),
    (["list", "--dry-run"], "nothing was done: --dry-run is not for this command"),
    (["backup", "list", "--dry-run"], "backup add, backup run, backup verify"),
    (["copy", "add", "data", "n2", "--gone"], "--gone is not for this command, but for: copy drop"),
    (["copy", "add", "data", "n2", "--destroy", "1"],
     "but for: copy drop, diverged drop, backup drop, trash empty"),
    (["drain", "n1", "--to", "n2"], "but for: failover"),
    (["list", "--lost", "n1", "--lost", "n2"], "but for: failover"),
])
def test_wrong_arguments_are_refused(host, words, text):
    assert text in zcsi(host, *words, status=2)


def test_many_copies_are_listed(host):
    """Members are set by hand. Real copies are tested in openzfs/."""
    ids = [f"v{n}" for n in range(4)]
    for name in ids:
        host.agent.CreateDataset(id=name, size=8 * MIB)
        run("zfs", "set", "zcsi:members=00112233aabbccdd:300:n1,n2,n3,n4", host.dataset(name))
    host.read_again()
    done = subprocess.run([BUILD / "zcsi", "--agent", f"unix://{host.agent_socket}", "copies",
                           "-Hp"], capture_output=True, text=True, check=False)
    listed = [row[:5] for row in rows(done.stdout)]
    assert listed == [[name, "n1", node, "-", "-"] for name in ids for node in ("n2", "n3", "n4")]


def test_a_volume_can_be_paused_and_resumed(host, volume):
    """Pausing needs no other node, so members are set by hand. Real copies are tested in
    openzfs/."""
    volume.create()
    assert "zcsi copy add data" in zcsi(host, "pause", "data", status=1)
    run("zfs", "set", "zcsi:members=00112233aabbccdd:300:n1,n2", host.dataset("data"))
    host.read_again()
    def state():
        done = subprocess.run([BUILD / "zcsi", "--agent", f"unix://{host.agent_socket}", "copies",
                               "-H"], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.rstrip("\n").split("\t")[6:]
    for _ in range(2):
        zcsi(host, "pause", "data")
        assert state() == (3, ["paused"])
    host.node_daemon.kill()
    host.restart(host.node_daemon)
    assert "zcsi resume data" in zcsi(host, "sync", "data", status=1)
    assert state() == (3, ["paused"])
    assert "copy on n2: paused" in zcsi(host, "status", status=3, stdout=True)
    for _ in range(2):
        zcsi(host, "resume", "data")
        assert state()[1] != ["paused"]
    assert get(host.dataset("data"), "zcsi:push") == "-"


def test_impossible_moves_are_refused(host, volume):
    """The refusals of `zcsi move`. Moves that succeed are tested in openzfs/test_move.py."""
    volume.create()
    assert "zcsi copy add data n2" in zcsi(host, "move", "data", "n2", status=1)
    assert "is not moving" in zcsi(host, "move", "data", "n2", "--cancel", status=1)
    assert "does not exist" in zcsi(host, "move", "none", "n2", status=1)
    assert zcsi(host, "move", "data", "n1") == ""


def test_impossible_failovers_are_refused(host, volume):
    """The refusals of `zcsi failover`. Failovers are tested in openzfs/test_failover.py."""
    volume.create()
    assert "add --lost NODE" in zcsi(host, "failover", "data", status=1)
    assert "has a copy of volume 'data'" in zcsi(host, "failover", "data", "--lost", "n9",
                                                 status=1)
    assert "not a time" in zcsi(host, "failover", "--lost", "n9", "--accept-loss", "soon", status=1)
    assert rows(zcsi(host, "failover", "--lost", "n9", "-H")) == []
    assert rows(zcsi(host, "diverged", "list", "-H")) == []
    for words in (["drop", "data-0"], ["diff", "data"], ["mount", "data", "/mnt"]):
        assert "diverged list" in zcsi(host, "diverged", *words, status=1)
    assert zcsi(host, "confirm", "data") == ""


BASH = """source <(zcsi completion bash)
COMP_WORDS=(zcsi "$@") COMP_CWORD=$#
_zcsi
printf '%s\\n' "${COMPREPLY[@]}"
"""
# Functions in place of zsh's builtins, which work only while a command line is edited.
ZSH = """compdef() { : }
compadd() { print -rl -- ${@:#--} }
_describe() { print -rl -- ${(P)2%%:*} }
source <(zcsi completion zsh)
words=(zcsi "$@") CURRENT=$(($# + 1))
_zcsi
"""
FISH = """zcsi completion fish | source
complete -C "zcsi $argv" | cut -f1
"""


@pytest.mark.parametrize("shell, script", [("bash", BASH), ("zsh", ZSH), ("fish", FISH)],
                         ids=["bash", "zsh", "fish"])
def test_a_shell_completes_words(host, tmp_path, shell, script):
    """Names of volumes are completed literally: the shell runs no part of them as a command."""
    names = ["data", "$(touch ran)", "`touch ran`", "a b"]
    for name in names:
        host.agent.CreateDataset(id=name, size=8 * MIB)

    def complete(*typed):
        env = {**os.environ, "ZCSI_AGENT": f"unix://{host.agent_socket}", "HOME": str(tmp_path),
               "PATH": f"{BUILD}:{os.environ['PATH']}"}
        done = subprocess.run([shell, "-c", script, "--", *typed], env=env, cwd=tmp_path,
                              check=True, capture_output=True, text=True)
        return done.stdout.splitlines()

    assert "status" in complete("st")
    assert "--agents-file" in complete("--agents")
    assert set(complete("-o", "")) == {"table", "json"}
    assert complete("check", "") == ["n1"]
    found = complete("show", "")
    assert "data" in found and len(found) == len(names)
    assert not (tmp_path / "ran").exists()
