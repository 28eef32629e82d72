# SPDX-License-Identifier: MPL-2.0
"""The steps of two virtual machines that keep copies of each other's volumes: `across.py 1` runs on
the first, `across.py 2` on the second. Each has its own version of OpenZFS, and they reach each
other by mutual TLS over a virtual cable. Both run the same steps, so streams go in both directions,
and each checks the copies that it has received."""
import contextlib
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

E2E = Path(__file__).resolve().parent.parent / "e2e"
sys.path[:0] = [str(E2E), str(E2E / "openzfs")]

from certificates import files  # noqa: E402
from client import MIB  # noqa: E402
from daemon import BUILD, wait_for  # noqa: E402
from host import get, Host, run, Volume  # noqa: E402
from pool import Pools  # noqa: E402
from zvols import zvol  # noqa: E402

NUMBERS = (1, 2)
NUMBER = int(sys.argv[1])
OTHER = 3 - NUMBER
CERTIFICATES = BUILD / "across"
KEY = "0123456789abcdef" * 4
LONG = 600  # seconds to wait until the other machine has reached the same step


def address(number):
    return f"10.78.0.{number}"


def endpoint(number):
    return f"tcp://{address(number)}:9740"


def connect():
    run("modprobe", "virtio_net")
    run("udevadm", "settle")  # udev renames the device
    # QEMU gives both machines the same hardware address.
    [device] = wait_for(lambda: set(os.listdir("/sys/class/net")) - {"lo"}, "a network device")
    run("ip", "link", "set", device, "address", f"52:54:00:00:00:0{NUMBER}")
    run("ip", "address", "add", f"{address(NUMBER)}/24", "dev", device)
    run("ip", "link", "set", device, "up")


def zcsi(*args):
    agents = [word for number in NUMBERS for word in ("--agent", endpoint(number))]
    return subprocess.run([BUILD / "zcsi", "--timeout", "300", *agents,
                           *files(CERTIFICATES, f"n{NUMBER}"), *args],
                          capture_output=True, text=True, check=False)


def done(*args):
    result = zcsi(*args)
    assert result.returncode == 0, result
    return result.stdout


@contextlib.contextmanager
def this_host():
    with tempfile.TemporaryDirectory(prefix="zcsi-across-") as folder, \
            contextlib.closing(Pools(folder)) as pools:
        agents = Path(folder, "agents")
        agents.write_text("".join(f"{endpoint(number)}\n" for number in NUMBERS))
        args = ("--address", address(NUMBER), "--agent-endpoint", endpoint(NUMBER),
                "--agents-file", agents, *files(CERTIFICATES, f"n{NUMBER}"))
        with contextlib.closing(Host(pools.create(f"across{NUMBER}"), node_id=f"n{NUMBER}",
                                     node_args=args)) as host:
            yield host.start()


def make(host):
    """Create a volume of each kind. The encrypted one is never used, so its key stays unloaded."""
    plain = Volume(host, f"plain-{NUMBER}", 64 * MIB)
    device = zvol(host, f"device-{NUMBER}", "block")
    secret = Volume(host, f"secret-{NUMBER}")
    secret.secrets = {"encryption_key": KEY}
    plain.up()
    device.create()
    secret.create(parameters={"zfs.encryption": "aes-256-gcm"})
    return plain, device, secret


def write(volume, name):
    """Write a file, half of which can be compressed, and its checksum."""
    data = os.urandom(2 * MIB) + b"zcsi" * (MIB // 2)
    Path(volume.target, name).write_bytes(data)
    Path(volume.target, f"{name}.sum").write_text(hashlib.sha256(data).hexdigest())


def check(host, name):
    """Wait until the copy of the other machine's volume has the file, and compare its checksum."""
    copy = host.dataset(f"_replica/plain-{OTHER}")

    def received():
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["mount", "-t", "zfs", "-o", "ro", copy, folder], check=False)
            if done.returncode:
                return False
            try:
                checksum = Path(folder, f"{name}.sum")
                return checksum.exists() and (checksum.read_text(), hashlib.sha256(
                    Path(folder, name).read_bytes()).hexdigest())
            finally:
                run("umount", folder)
    wanted, found = wait_for(received, f"{copy} has '{name}'", LONG, pause=0.2)
    assert wanted == found


def up_to_date(count):
    rows = [line.split("\t") for line in zcsi("copies", "-Hp").stdout.splitlines()]
    return len(rows) == count and all(row[6] == "ok" for row in rows)


def main():
    connect()
    with this_host() as host:
        wait_for(lambda: zcsi("nodes").returncode == 0, "the other machine answers", LONG)
        volumes = make(host)
        write(volumes[0], "one")
        for volume in volumes:
            done("copy", "add", volume.id, f"n{OTHER}")
        check(host, "one")
        host.agent.SnapshotDataset(id=volumes[0].id, name="asked")
        write(volumes[0], "two")
        volumes[1].expand(2 * volumes[1].size)
        for volume in volumes:
            done("sync", volume.id)
        check(host, "two")
        wait_for(lambda: up_to_date(2 * len(volumes)), "all copies are up to date", LONG)
        copies = {kind: host.dataset(f"_replica/{kind}-{OTHER}")
                  for kind in ("plain", "device", "secret")}
        assert get(f"{copies['plain']}@asked", "zcsi:snapshot") == "asked"
        assert int(get(copies["device"], "volsize")) == 2 * volumes[1].size
        assert get(copies["secret"], "encryptionroot") == copies["secret"]
        print(f"n{NUMBER}, OpenZFS {os.environ['OPENZFS']}: all that was sent has arrived")
        # The other machine may still need this one: a volume end-N says that machine N is done.
        end = Volume(host, f"end-{NUMBER}")
        end.create()
        wait_for(lambda: f"end-{OTHER}\t" in zcsi("list", "-Hp").stdout
                 or zcsi("nodes").returncode != 0, "the other machine has ended", LONG)
        volumes[0].down()


if __name__ == "__main__":
    main()
