# SPDX-License-Identifier: MPL-2.0
"""systemd as the first process of a pid namespace, because the machine runs another init; and its
units with the interface of a Daemon. systemd finds our units where make install puts them, or else
where Debian's packages do. Mounts below /tmp are visible inside and outside."""
import subprocess
from pathlib import Path

from daemon import Daemon, wait_for
from host import run
from processes import children

CGROUP = Path("/sys/fs/cgroup/systemd")
# The units that a service needs at boot, instead of all that Debian installs: these would empty
# /tmp and start a second udevd.
UNITS = ("sysinit.target", "basic.target", "network-online.target", "shutdown.target",
         "systemd-journald.service", "systemd-journald.socket")
BOOT = """
umount /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs tmpfs /run
systemd-machine-id-setup
mkdir -p /run/systemd/system/sysinit.target.wants
cd /run/systemd/system
for unit; do
	ln -s "/lib/systemd/system/$unit" .
done
ln -s ../systemd-journald.service sysinit.target.wants
mkdir /run/packages
ln -s /lib/systemd/system/zcsi-node.service /lib/systemd/system/zcsi-controller.service \
	/run/packages
exec env container=lab \
	SYSTEMD_UNIT_PATH=/run/systemd/system:/usr/local/lib/systemd/system:/run/packages \
	SYSTEMD_GENERATOR_PATH=/none /lib/systemd/systemd --system --unit=basic.target
"""


class Systemd:
    def __init__(self):
        CGROUP.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            ["sh", "-c", f'echo $$ >{CGROUP}/cgroup.procs; exec "$@"', "sh",
             "unshare", "--pid", "--fork", "--kill-child", "--mount", "--propagation", "shared",
             "--mount-proc", "--cgroup", "--uts", "sh", "-e", "-c", BOOT, "sh", *UNITS])
        [pid] = wait_for(lambda: children(self.process.pid), "the namespaces")
        self.root = Path(f"/proc/{pid}/root")
        self.prefix = ("nsenter", f"--target={pid}", "--mount", "--pid", "--cgroup")
        wait_for(lambda: self.is_active("basic.target"), "systemd has started", pause=0.05)

    def run(self, *argv):
        return run(*self.prefix, *argv)

    def is_active(self, unit):
        argv = [*self.prefix, "systemctl", "is-active", unit]
        return subprocess.run(argv, capture_output=True).returncode == 0

    def show(self, unit, name):
        return self.run("systemctl", "show", "--value", f"--property={name}", unit).strip()

    def close(self):
        self.process.kill()
        self.process.wait()


class Unit(Daemon):
    def __init__(self, systemd, name, socket):
        self.systemd, self.name = systemd, name
        self.socket = systemd.root / socket.lstrip("/")
        self.clients = []

    def systemctl(self, verb, *words):
        return self.systemd.run("systemctl", verb, *words, self.name)

    def pid(self):
        """Return the main process id in the unit's own pid namespace."""
        return int(self.systemd.show(self.name, "MainPID"))

    def running(self):
        return self.systemd.is_active(self.name)

    def start(self):
        self.systemctl("start")
        return self

    def stop(self):
        self.close()
        self.systemctl("stop")
        assert self.systemd.show(self.name, "Result") == "success"
        assert self.systemd.show(self.name, "ExecMainStatus") == "0"
        assert not self.socket.exists()

    def kill(self):
        self.systemctl("kill", "--signal=KILL")

    def text(self):
        """Return the lines of the unit's program in the journal."""
        return self.systemd.run("journalctl", "--output=cat", "--quiet", f"_COMM={self.name}")
