# SPDX-License-Identifier: MPL-2.0
"""`zcsi check`: what `zcsi-node --check` says, of each agent. The checks themselves are tested in
test_check.py."""
import json
import re
import subprocess

from client import PATIENCE
from daemon import BUILD
from host import run
from test_cli import rows, zcsi

WORST_FIRST = ["MISSING", "optional", "ok"]


def check(hosts, *words, timeout=20):
    """Run `zcsi check -H`. Return its rows (state, node, thing, remedy). The exit status says
    whether a thing is missing."""
    agents = [word for host in hosts for word in ("--agent", f"unix://{host.agent_socket}")]
    done = subprocess.run(
        [BUILD / "zcsi", *agents, "--timeout", str(timeout * PATIENCE), "check", "-H", *words],
        capture_output=True, text=True, check=False)
    found = rows(done.stdout)
    missing = any(row[0] == "MISSING" for row in found)
    assert (done.returncode, done.stderr) == (3 if missing else 0, ""), done
    assert found == sorted(found, key=lambda row: WORST_FIRST.index(row[0]))
    return found


def said_by_the_option(host):
    """Return the lines of `--check` with the options of the daemon, but for those of its
    certificates and endpoints."""
    done = subprocess.run([*host.node_daemon.argv, "--check"], env=host.node_daemon.env,
                          capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines()
             if not re.match(r"\w+ (TLS|endpoint)\b", line)]
    assert any("mount_setattr" in line for line in lines), done
    return lines


def lines_of(found, node):
    return [f"{state} {thing}" + (f": {remedy}" if remedy != "-" else "")
            for state, at, thing, remedy in found if at == node]


def test_the_command_prints_what_the_option_prints(host, other):
    found = check([host, other])
    for each in (host, other):
        assert sorted(lines_of(found, each.node_id)) == sorted(said_by_the_option(each))
    assert {row[1] for row in found} == {"n1", "n2"}
    assert lines_of(check([host, other], "n2"), "n2") == lines_of(found, "n2")
    assert {row[1] for row in check([host, other], "n2")} == {"n2"}


def test_a_missing_thing_is_named_until_it_is_mended(host):
    run("zfs", "set", "readonly=on", host.parent)
    [remedy] = [row[3] for row in check([host]) if row[2] == f"dataset '{host.parent}'"]
    line = re.search("'(zfs set [^']+)'", remedy)[1]
    assert line == f"zfs set readonly=off {host.parent}"
    said = json.loads(zcsi(host, "check", "-o", "json", status=3, stdout=True))
    assert [row["remedy"] for row in said["things"] if row["state"] == "MISSING"][-1] == remedy
    assert line in zcsi(host, "check", status=3, stdout=True)
    run(*line.split())
    assert ["ok", "n1", f"dataset '{host.parent}'", "-"] in check([host])


def test_a_zpool_that_hangs_delays_no_answer(new_host, new_gate):
    """The default of --zfs-timeout is two minutes, longer than the test waits."""
    gate = new_gate("zpool")
    host = new_host(env=gate.env).start()
    pool = f"pool of '{host.parent}'"
    assert ["ok", "n1", pool, "-"] in check([host])
    gate.hold(" get ")
    try:
        found = check([host], timeout=3)
    finally:
        gate.open()
    [remedy] = [row[3] for row in found if row[:3] == ["MISSING", "n1", pool]]
    assert "zfs has not answered for" in remedy and "zpool clear" in remedy
    assert "system call mount_setattr(2)" in [row[2] for row in found]
    assert ["ok", "n1", pool, "-"] in check([host])


def test_an_agent_that_does_not_answer_is_named(host, other):
    other.node_daemon.kill()
    down = [f"unix://{other.agent_socket}"]
    said = zcsi(host, "check", "-H", agents=down, status=3)
    assert f"the answer of '{down[0]}' is missing" in said
    assert "no agent that answers is that of node 'n2'" in zcsi(host, "check", "n2", agents=down,
                                                               status=1)
