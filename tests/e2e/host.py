# SPDX-License-Identifier: MPL-2.0
"""A host: a parent dataset, a zcsi-node on it, a zcsi-controller that knows the node. A volume,
with the steps of its life as methods. Functions that read the state of ZFS and the mount table."""
import contextlib
import errno
import itertools
import os
import signal
import subprocess
import tempfile
from pathlib import Path

from client import capability, MIB, size_of
from daemon import Daemon, wait_for

# A root shell started by su lacks /usr/sbin in PATH, where zfs and zpool are.
os.environ["PATH"] += ":/usr/sbin:/sbin"
# False with zfs-fuse, which takes only one snapshot and sets only one property at a time.
KERNEL_ZFS = "nodev\tzfs\n" in open("/proc/filesystems", encoding="ascii").readlines()
COUNTER = itertools.count(1)
SIZE = 8 * MIB
RESERVED = 0 if KERNEL_ZFS else 3 * MIB  # bytes that zcsi-node reserves for the parent dataset


def run(*argv, **kwargs):
    """Run a command and return its output. The command is repeated while zfs-fuse reports a dataset
    or a pool as busy, for a moment after a change; zcsi repeats its commands for the same
    reason."""
    def attempt():
        done = subprocess.run(argv, capture_output=True, text=True, **kwargs)
        busy = any(f"{thing} is busy" in done.stderr for thing in ("dataset", "pool"))
        return None if busy else done
    command = " ".join(map(str, argv))
    done = wait_for(attempt, f"{command}: not busy", pause=0.1)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def datasets(parent):
    """Return the names of the datasets below the parent, without the parent."""
    return run("zfs", "list", "-rH", "-o", "name", parent).split("\n")[1:-1]


def get(dataset, name):
    return run("zfs", "get", "-Hp", "-o", "value", name, dataset).strip()


def mounts(folder="/"):
    """Return (mount point, options) of each mount below a folder, oldest first."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split(" ")
        point = fields[4].encode("latin-1", "backslashreplace").decode("unicode_escape")
        if point.startswith(str(folder)):
            found.append((point, fields[5].split(",")))
    return found


def tree(folder):
    return sorted(str(path) for path in Path(folder).rglob("*") if not path.name.endswith(".log"))


def staging_marks(host):
    """Return the marks of staging paths below a host's folder."""
    found = []
    for mark in Path("/run/zcsi").glob("*.staging"):
        with contextlib.suppress(FileNotFoundError):  # another run may remove its mark meanwhile
            if os.readlink(mark).startswith(f"{host.folder}/"):
                found.append(str(mark))
    return sorted(found)


def fill(path):
    """Append to a file until the volume is full and return the number of bytes written."""
    block = os.urandom(MIB // 4)
    written = 0
    with open(path, "ab", buffering=0) as file:
        while written < 64 * MIB:
            try:
                written += file.write(block)
            except OSError as error:
                assert error.errno in (errno.ENOSPC, errno.EDQUOT)
                return written
    raise AssertionError(f"{path} has no quota")


def after_other_calls(host, name):
    """Wait until zcsi-node has ended all earlier calls for a volume, also those whose client has
    gone, and return its dataset. ResizeDataset waits for them; a smaller size changes nothing."""
    return host.agent.ResizeDataset(id=name, size=1, timeout=20).dataset


class Host:
    def __init__(self, pool, node_id="n1", node_args=(), env=None, controller_args=(), agents=(),
                 namespaces=None):
        self.temporary = tempfile.TemporaryDirectory(prefix="zcsi-e2e-")
        self.folder = self.temporary.name
        self.cache = tempfile.TemporaryDirectory(prefix="zcsi-cache-")
        self.node_id = node_id
        self.namespaces = namespaces
        self.parent = f"{pool}/h{next(COUNTER)}"
        run("zfs", "create", "-p", "-o", "mountpoint=none", self.parent)
        if RESERVED:  # zcsi-node would set it during the calls of a test
            run("zfs", "set", f"refreservation={RESERVED}", self.parent)
        self.agent_socket = f"{self.folder}/agent.sock"
        self.node_daemon = Daemon(
            "zcsi-node", self.folder, "--agent-endpoint", f"unix://{self.agent_socket}",
            "--node-id", node_id, "--dataset", self.parent,
            "--cache", self.cache.name, *node_args, env=env,
            prefix=namespaces.prefix if namespaces else ())
        agents = [f"unix://{self.agent_socket}", *agents]
        self.controller_daemon = Daemon(
            "zcsi-controller", self.folder,
            *(word for target in agents for word in ("--agent", target)), *controller_args)
        self.node = self.controller = self.agent = None

    def start(self):
        self.start_node()
        self.start_controller()
        return self

    def start_node(self):
        self.node_daemon.start()
        self.node = self.node_daemon.client()
        self.agent = self.node_daemon.client(f"unix:{self.agent_socket}")
        wait_for(lambda: self.agent.GetHost().names, "the whole pool is read")

    def start_controller(self):
        self.controller_daemon.start()
        self.controller = self.controller_daemon.client()

    def restart(self, daemon):
        """Start a daemon again after a kill -9 and wait until the controller reaches the agent."""
        daemon.close()
        self.start_node() if daemon is self.node_daemon else self.start_controller()
        self.wait_for_agent()

    def wait_for_agent(self):
        """Wait until the controller has connected to the agent, between whose attempts it pauses,
        and has asked it which hosts it knows."""
        def is_asked():
            refusal = self.controller.ControllerGetVolume.future(volume_id="nothing").details()
            return "cannot reach" not in refusal and "just come up" not in refusal
        wait_for(is_asked, "the controller has asked the agent")

    def dataset(self, name):
        return f"{self.parent}/{name}"

    def limit(self, size):
        """Limit the space of all volumes, by the quota of the parent."""
        run("zfs", "set", f"quota={size + RESERVED}", self.parent)

    def leaves(self):
        return sorted(name[len(self.parent) + 1:] for name in datasets(self.parent))

    def mounts(self):
        return mounts(self.folder + "/")

    def rescan(self, until):
        """Send SIGHUP and wait until the condition `until` holds."""
        self.node_daemon.signal(signal.SIGHUP)
        wait_for(until, "the rescan has happened")

    def read_again(self):
        """Wait until a scan of the pool that began after this call is in effect. The log shows only
        that a scan's zfs has ended: the first scan may have begun before this call, and the last
        one may not be in effect yet, so wait for three."""
        for _ in range(3):
            before = self.node_daemon.mark()
            self.rescan(lambda: any("zfs get -r" in argv
                                    for argv in self.node_daemon.runs(before)))

    @contextlib.contextmanager
    def frozen(self):
        """Stop zcsi-node by SIGSTOP, so that it sees the changes of the block only when all are
        done."""
        self.node_daemon.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.node_daemon.signal(signal.SIGCONT)

    def ids(self):
        return sorted(e.volume.volume_id for e in self.controller.ListVolumes().entries)

    def state(self):
        """Return everything that a refused call must not change."""
        return self.leaves(), self.mounts(), tree(self.folder)

    def close(self):
        try:
            for daemon in (self.controller_daemon, self.node_daemon):
                if daemon.running():
                    daemon.stop()
                daemon.log()
        finally:
            for daemon in (self.controller_daemon, self.node_daemon):
                if daemon.running():
                    daemon.kill()
            for point, _ in reversed(self.mounts()):
                subprocess.run(["umount", "-l", point], check=True)
            for mark in staging_marks(self):
                os.unlink(mark)
            self.destroy()
            self.temporary.cleanup()
            self.cache.cleanup()

    def destroy(self):
        """Destroy the parent. The command is repeated, because a zfs that a killed daemon has left
        may create a dataset meanwhile."""
        command = ["zfs", "destroy", "-r", self.parent]
        wait_for(lambda: not subprocess.run(command, check=False).returncode, " ".join(command))


class Volume:
    """A volume by its name. Each method is one RPC as an orchestrator sends it; it may be
    repeated."""

    def __init__(self, host, name, size=SIZE, mode="SINGLE_NODE_WRITER"):
        self.host, self.id, self.size, self.mode = host, name, size, mode
        self.capability = capability(mode)
        self.secrets = {}
        self.context = {}
        number = next(COUNTER)
        self.staging = f"{host.folder}/staging-{number}"
        self.target = f"{host.folder}/target-{number}"

    def request(self, **fields):
        return {"name": self.id, "capacity_range": size_of(self.size),
                "volume_capabilities": [self.capability], "secrets": self.secrets, **fields}

    def create(self, **fields):
        return self.host.controller.CreateVolume(**self.request(**fields))

    def start_create(self, **fields):
        return self.host.controller.CreateVolume.future(**self.request(**fields))

    def start_delete(self):
        return self.host.controller.DeleteVolume.future(volume_id=self.id)

    def attach(self, **fields):
        answer = self.host.controller.ControllerPublishVolume(**{
            "volume_id": self.id, "node_id": self.host.node_id,
            "volume_capability": self.capability, **fields})
        self.context = dict(answer.publish_context)
        return answer

    def stage(self, **fields):
        os.makedirs(self.staging, mode=0o700, exist_ok=True)
        return self.host.node.NodeStageVolume(**{
            "volume_id": self.id, "staging_target_path": self.staging,
            "volume_capability": self.capability, "publish_context": self.context,
            "secrets": self.secrets, **fields})

    def publish(self, target=None, **fields):
        return self.host.node.NodePublishVolume(**{
            "volume_id": self.id, "staging_target_path": self.staging,
            "target_path": target or self.target, "volume_capability": self.capability, **fields})

    def unpublish(self, target=None):
        return self.host.node.NodeUnpublishVolume(volume_id=self.id,
                                                  target_path=target or self.target)

    def unstage(self):
        return self.host.node.NodeUnstageVolume(volume_id=self.id,
                                                staging_target_path=self.staging)

    def detach(self):
        return self.host.controller.ControllerUnpublishVolume(volume_id=self.id,
                                                              node_id=self.host.node_id)

    def expand(self, size):
        return self.host.controller.ControllerExpandVolume(volume_id=self.id,
                                                           capacity_range=size_of(size))

    def delete(self):
        return self.host.controller.DeleteVolume(volume_id=self.id)

    def up(self):
        for step in (self.create, self.attach, self.stage, self.publish):
            step()
        return self

    def down(self):
        for step in (self.unpublish, self.unstage, self.detach):
            step()
        return self

    def record(self):
        return self.host.agent.GetDataset(id=self.id).dataset
