# SPDX-License-Identifier: MPL-2.0
"""Dynamic host volumes of Nomad, by zcsi-host-volume: no CSI, and no controller runs."""
import subprocess

import pytest

from client import MIB
from daemon import BUILD, Daemon
from host import get, run
from nomad import HERE, NOBODY, Consumer, Refused, accepted, api, healthy, job_run, nomad, until

PLUGIN = "zcsi-host-volume"
SPEC = """
type         = "host"
name         = "{name}"
plugin_id    = "zcsi-host-volume"
capacity_min = "{capacity}"
capacity_max = "1GiB"
{id}
capability {{
  access_mode     = "single-node-single-writer"
  attachment_mode = "file-system"
}}
parameters {{
  owner = "{nobody}"
  {parameters}
}}
"""


def found(name):
    """Return what Nomad knows of a volume, or None."""
    listed = [each for each in api("volumes?type=host", []) if each["Name"] == name]
    return api(f"volume/host/{listed[0]['ID']}") if listed else None


def create(name, capacity, id=None, parameters=""):
    nomad("volume", "create", "-", text=SPEC.format(
        name=name, capacity=capacity, id=f'id = "{id}"' if id else "", nobody=NOBODY,
        parameters=parameters))
    return found(name)


def zcsi(*words):
    return subprocess.run([BUILD / "zcsi", *words], check=True, capture_output=True,
                          text=True).stdout


class HostConsumer(Consumer):
    """A job that claims a host volume."""

    def __init__(self, job, volume):
        self.job, self.count, self.allocs = job, 1, []
        job_run(HERE / "host_consumer.nomad.hcl", "-detach", job=job, volume=volume)


@pytest.fixture(scope="module")
def plugin(agent, pools, folder):
    """The plugin where the client looks for it, and a zcsi-node as systemd would start it. Returns
    the dataset that holds the volumes."""
    dataset = f"{pools.create('zcsi-host', 256)}/zcsi"
    daemon = Daemon("zcsi-node", folder, "--agent-endpoint", "unix:///run/zcsi/agent.sock",
                    "--node-id", "n1", "--dataset", dataset, "--trash-ttl", "3600",
                    "--cache", folder / "cache", name="node").start()
    plugins = agent.data / "host_volume_plugins"
    plugins.mkdir(exist_ok=True)
    (plugins / PLUGIN).symlink_to(BUILD / PLUGIN)
    agent.reload()
    [node] = [each["ID"] for each in api("nodes") if each["Name"] == agent.name]
    until(lambda: f"plugins.host_volume.{PLUGIN}.version" in api(f"node/{node}")["Attributes"],
          "Nomad has found the plugin")
    yield dataset
    (plugins / PLUGIN).unlink()
    daemon.stop()


@pytest.fixture
def volume(plugin):
    """A function like create() whose volumes are deleted when the test ends."""
    made = []

    def make(name, *args, **kwargs):
        made.append(name)
        return create(name, *args, **kwargs)
    yield make
    for each in filter(None, map(found, made)):
        accepted(nomad, "volume", "delete", "-type", "host", each["ID"])


@pytest.fixture
def consumer(volume):
    made = []

    def make(*args):
        made.append(HostConsumer(*args))
        return made[-1].started()
    yield make
    for each in made:
        each.stop()


def leaf(known):
    return f"{known['Name']}-{known['ID'][:8]}"


def test_a_host_volume_is_created_used_and_deleted(agent, plugin, volume, consumer):
    """A volume is made, used, and mounted again after a boot; it is full, and grows; it is deleted,
    and its data is in the trash."""
    known = volume("cache", "16MiB")
    assert known["CapacityBytes"] == 16 * MIB and known["State"] == "ready"
    dataset = f"{plugin}/{leaf(known)}"
    assert leaf(known) in zcsi("list")
    user = consumer("user", "cache")
    user.write("words", "kept")
    with pytest.raises(Refused, match="No space left|Disk quota"):
        user.busybox("dd", "if=/dev/urandom", "of=/data/much", "bs=1M", "count=32")
    user.busybox("rm", "/data/much")
    user.stop()

    run("umount", known["HostPath"])  # a boot removes all mounts
    agent.kill()
    agent.start()
    until(lambda: healthy("Nodes") and healthy("Controllers"), "a plugin of other tests is healthy")
    user = consumer("user", "cache")
    assert user.read("words") == "kept"
    user.stop()

    grown = accepted(create, "cache", "48MiB", id=known["ID"])
    assert grown["CapacityBytes"] == 48 * MIB and get(dataset, "refquota") == str(48 * MIB)
    user = consumer("user", "cache")
    user.busybox("dd", "if=/dev/urandom", "of=/data/much", "bs=1M", "count=32")
    with pytest.raises(Refused, match="in use|cannot delete"):
        nomad("volume", "delete", "-type", "host", known["ID"])
    user.stop()

    accepted(nomad, "volume", "delete", "-type", "host", known["ID"])
    assert found("cache") is None
    assert leaf(known) not in zcsi("list") and leaf(known) in zcsi("trash", "list")
    zcsi("trash", "restore", leaf(known))
    assert leaf(known) in zcsi("list")


def test_nomad_shows_why_a_volume_is_not_made(volume):
    with pytest.raises(Refused, match="make a volume of CSI instead"):
        volume("secret", "16MiB", parameters='"zfs.encryption" = "on"')
