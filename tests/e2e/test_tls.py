# SPDX-License-Identifier: MPL-2.0
"""Mutual TLS between a controller and an agent on loopback, with certificates of
jobs/local/certs."""
import socket
import subprocess

import grpc
import pytest

from certificates import files
from client import Client, ROOT, refused
from daemon import BUILD, Daemon
from host import Volume

CODE = grpc.StatusCode
ALLOWED = "zcsi.v1.Agent=controller.example"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def start(new_host, certificates):
    """A function that starts a host whose controller reaches its agent over TLS only."""
    def make(controller="controller.example", node="node.example", allow=(ALLOWED,)):
        endpoint = f"tcp://127.0.0.1:{free_port()}"
        allowed = [word for name in allow for word in ("--allow", name)]
        made = new_host(
            node_args=("--agent-endpoint", endpoint, *files(certificates, node), *allowed),
            controller_args=files(certificates, controller) if controller else ())
        argv = made.controller_daemon.argv
        argv[argv.index("--agent") + 1] = endpoint
        made.endpoint = endpoint
        return made.start()
    return make


def test_a_volume_lives_over_tls(start):
    volume = Volume(start(), "data").up()
    assert volume.record().id == "data"
    volume.down().delete()


def test_without_allow_any_certificate_of_the_ca_is_accepted(start):
    Volume(start(controller="stranger.example", allow=()), "data").create()


def test_a_name_may_be_a_uri(start):
    host = start(controller="by-uri", allow=("a.example", "spiffe://site/controller"))
    Volume(host, "data").create()


def test_a_controller_that_is_not_allowed_is_refused_by_name(start):
    host = start(controller="stranger.example")
    with refused(CODE.UNAVAILABLE, naming=(
            f"agent '{host.endpoint}' did not report whether it has volume 'data'",
            "certificate is for 'stranger.example', and no --allow lets that call zcsi.v1.Agent")):
        Volume(host, "data").create()
    assert host.leaves() == []


def sent(host, certificates):
    """Create a volume with a snapshot and send that by zcsi with the controller's certificate.
    Returns the ended process."""
    Volume(host, "data").create()
    host.controller.CreateSnapshot(source_volume_id="data", name="one")
    return subprocess.run([BUILD / "zcsi", "--agent", host.endpoint,
                           *files(certificates, "controller.example"), "send", "data@one"],
                          capture_output=True, check=False)


def test_a_controller_may_not_read_volumes(start, certificates):
    done = sent(start(), certificates)
    assert (done.returncode, done.stdout) == (1, b"")
    assert "no --allow lets that call zcsi.v1.Copy" in done.stderr.decode()


def test_a_method_alone_may_be_allowed(start, certificates):
    host = start(allow=(ALLOWED, "zcsi.v1.Agent/GetHost=stranger.example"))

    def zcsi(command):
        return subprocess.run([BUILD / "zcsi", "--agent", host.endpoint,
                               *files(certificates, "stranger.example"), command],
                              capture_output=True, check=False, text=True)
    assert zcsi("nodes").returncode == 0
    assert "no --allow lets that call zcsi.v1.Agent/ListDatasets" in zcsi("list").stderr


def test_a_volume_is_sent_over_tls(start, certificates):
    done = sent(start(allow=(ALLOWED, "zcsi.v1.Copy=controller.example")), certificates)
    assert (done.returncode, done.stderr) == (0, b"") and done.stdout


def test_an_agent_at_another_name_is_refused(start):
    host = start(node="stranger.example")
    with refused(CODE.UNAVAILABLE, naming=(
            host.endpoint, "its certificate is for 'stranger.example', not for '127.0.0.1'")):
        Volume(host, "data").create()


def test_a_controller_without_certificates_gets_a_helpful_error(start):
    host = start(controller=None)
    with refused(CODE.UNAVAILABLE, naming=(host.endpoint, "it speaks TLS: give --tls-ca")):
        Volume(host, "data").create()


def test_another_grpc_speaks_the_same_tls(new_host, certificates):
    port = free_port()
    host = new_host(controller_args=(
        "--endpoint", f"tcp://127.0.0.1:{port}", *files(certificates, "controller.example"),
        "--allow", "stranger.example")).start()
    ca, cert, key = [path.read_bytes() for path in files(certificates, "stranger.example")[1::2]]
    other = [path.read_bytes() for path in files(certificates, "node.example")[3::2]]
    good = Client(f"127.0.0.1:{port}", grpc.ssl_channel_credentials(ca, key, cert))
    assert good.GetPluginInfo().name and host.ids() == []
    good.close()
    denied = Client(f"127.0.0.1:{port}", grpc.ssl_channel_credentials(ca, other[1], other[0]))
    with refused(CODE.PERMISSION_DENIED, naming=("'node.example'", "csi.v1.Identity")):
        denied.GetPluginInfo()
    denied.close()


PRIVATE = {"zcsi-node": "--agent-endpoint", "zcsi-controller": "--agent"}


def ends(program, folder, *args):
    daemon = Daemon(program, folder, PRIVATE[program], f"unix://{folder}/agent.sock", *args)
    daemon.spawn()
    assert daemon.wait() == 1
    return daemon.text()


@pytest.mark.parametrize("program", PRIVATE)
def test_a_daemon_with_incomplete_tls_options_does_not_start(program, tmp_path, certificates):
    good = files(certificates, "node.example")
    for at in range(0, 6, 2):
        assert f"{good[at]} is missing" in ends(program, tmp_path, *good[:at], *good[at + 2:])
    assert "--allow" in ends(program, tmp_path, "--allow", "a.example")
    for at in range(1, 6, 2):
        wrong = (*good[:at], tmp_path / "none", *good[at + 1:])
        assert f"'{tmp_path}/none': No such file" in ends(program, tmp_path, *wrong)


def test_certs_makes_keys_readable_by_root_only(certificates):
    for path in certificates.iterdir():
        assert path.stat().st_mode & 0o777 == (0o600 if path.suffix == ".key" else 0o644)
    done = subprocess.run([ROOT / "jobs/local/certs", certificates], capture_output=True, text=True)
    assert done.returncode == 2 and "certs FOLDER NAMES" in done.stderr


def test_certs_are_for_servers_and_clients(certificates):
    text = subprocess.run(["openssl", "x509", "-in", certificates / "node.example.pem", "-noout",
                           "-ext", "subjectAltName,extendedKeyUsage"],
                          capture_output=True, check=True, text=True).stdout
    assert "DNS:node.example, IP Address:127.0.0.1" in text
    assert "TLS Web Server Authentication, TLS Web Client Authentication" in text
