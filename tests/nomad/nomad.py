# SPDX-License-Identifier: MPL-2.0
"""A real `nomad agent`, its command line as operators type it, and its HTTP API for what tests wait
for."""
import contextlib
import functools
import json
import os
import re
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

from client import PATIENCE
from daemon import BUILD, wait_for

HERE = Path(__file__).parent
PROGRAM = BUILD / f"nomad/nomad-{os.environ.get('NOMAD', '1.11')}"
ADDRESSES = {"n1": "10.74.0.1", "n2": "10.74.0.2"}  # tests/nomad/alone makes them
SERVER = f"http://{ADDRESSES['n1']}:4646"
os.environ["NOMAD_ADDR"] = SERVER
os.environ["ZCSI_LOG_LEVEL"] = "debug"  # of the daemons, to which raw_exec hands it on
NOBODY = 65534  # the user that the exec driver runs tasks as
# All that a task of the exec driver sees of the host: these, and the programs' libraries.
TOOLS = ("/bin/busybox", "/usr/bin/redis-server", "/usr/bin/redis-cli")
FILES = ("/etc/passwd", "/etc/group")
SOON = 15  # seconds in which a daemon is in use that was started
# Nomad's own pauses are of seconds: the deadline is for what never comes.
until = functools.partial(wait_for, seconds=180, pause=0.1)

SPEC = """
id        = "{id}"
name      = "{id}"
type      = "csi"
plugin_id = "zcsi"
{fields}
{capabilities}
mount_options {{
  fs_type     = "zfs"
  mount_flags = {flags}
}}
{topology}
parameters {{
  owner = "{nobody}"
  group = "{nobody}"
{parameters}
}}
"""
CAPABILITY = """
capability {{
  access_mode     = "{}"
  attachment_mode = "file-system"
}}"""

TOPOLOGY = """
topology_request {{
  required {{
    topology {{
      segments {{
        "zcsi.zfs/node" = "{}"
      }}
    }}
  }}
}}"""


def spec(id, *modes, flags=(), node=None, parameters=None, **fields):
    """The volume file; `fields` are those at its top, such as capacity_min. Nomad 1.6 takes the
    capacity_max that is not there for 0."""
    if "capacity_min" in fields:
        fields = {"capacity_max": fields["capacity_min"], **fields}

    def lines(words):
        return "\n".join(f'"{key}" = "{value}"' for key, value in (words or {}).items())
    return SPEC.format(
        id=id, nobody=NOBODY, fields=lines(fields), parameters=lines(parameters),
        flags=json.dumps(flags), topology=TOPOLOGY.format(node) if node else "",
        capabilities="".join(CAPABILITY.format(m) for m in modes or ["single-node-writer"]))


class Refused(Exception):
    """What the command printed, colours and line breaks taken out."""


def command(*words, text=None):
    """Its output, or Refused with it."""
    done = subprocess.run([str(word) for word in words], input=text, capture_output=True,
                          text=True, timeout=180 * PATIENCE)
    if done.returncode == 0:
        return done.stdout
    raise Refused(" ".join(re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr).split()))


def chroot():
    """For chroot_env: each file under the name by which it is looked for."""
    needed = subprocess.run(["ldd", *TOOLS], capture_output=True, text=True).stdout
    names = [*TOOLS, *FILES, *re.findall(r"(/\S+) \(0x", needed)]
    return {os.path.realpath(name): name for name in names}


class Agent:
    """A client. Its name is also that of its network and its datacenter. Its tasks are not its
    children: only Nomad's own stop, or the end of all processes around it, ends them."""

    def __init__(self, folder, name, *args):
        self.name = name
        self.data = Path(folder, name)
        self.log_path = BUILD / f"nomad/{name}.log"
        seen = Path(folder, "chroot.json")
        seen.write_text(json.dumps({"client": {"chroot_env": chroot()}}))
        network = Path("/run/netns", name)
        self.argv = [*(["nsenter", f"--net={network}"] if network.exists() else []),
                     PROGRAM, "agent", "-config", HERE / "agent.hcl", "-config", seen,
                     "-data-dir", self.data, "-node", name, "-network-interface", name,
                     "-bind", ADDRESSES[name], "-dc", name, *args]
        self.process = None

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(self.argv, stdout=log, stderr=log)
        until(self.ready, f"the Nomad client {self.name} is ready")
        return self

    def ready(self):
        assert self.process.poll() is None, f"the agent ended; see {self.log_path}"
        return any(node["Name"] == self.name and node["Status"] == "ready"
                   for node in api("nodes", []))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60 * PATIENCE)


def read(path):
    """Of a process; nothing when it has ended."""
    try:
        return path.read_text()
    except OSError:
        return ""


def processes(program):
    """Their ids; none of another Nomad is to be seen here."""
    return [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/cmdline")
            if read(path).split("\0", 1)[0] == str(BUILD / program)]


def told(pid, name):
    """What that daemon was told in its environment, such as CSI_ENDPOINT."""
    return re.search(rf"(?:^|\0){name}=([^\0]+)", read(Path("/proc", str(pid), "environ")))[1]


@contextlib.contextmanager
def paused(program):
    """All of them, so that what is asked of them does not end."""
    pids = processes(program)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def api(path, otherwise=None):
    """What the API answers; `otherwise` while it does not, and for what is not there."""
    try:
        with urllib.request.urlopen(f"{SERVER}/v1/{path}", timeout=60 * PATIENCE) as answer:
            return json.load(answer)
    except (urllib.error.URLError, ConnectionError):
        return otherwise


def nomad(*words, text=None):
    return command(PROGRAM, *words, text=text)


def tried(call, *args, **kwargs):
    """What it answers, or None when it is refused for now."""
    try:
        return call(*args, **kwargs)
    except Refused:
        return None


def accepted(call, *args, **kwargs):
    """What it answers when it is not refused any more; fails with the last refusal."""
    refused = {}

    def attempt():
        try:
            return call(*args, **kwargs)
        except Refused as why:
            refused["last"] = why
            return None
    return until(attempt, refused)


def spoken(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def job_run(file, *options, **variables):
    words = [word for item in variables.items() for word in ("-var", "=".join(map(spoken, item)))]
    return nomad("job", "run", *options, *words, file)


def volume_create(*args, command="create", **kwargs):
    return nomad("volume", command, "-", text=spec(*args, **kwargs))


def snapshots(*options):
    """The ids of all, or of a page, and the token that asks for what follows them."""
    text = nomad("volume", "snapshot", "list", "-plugin", "zcsi", *options)
    token = re.search(r"-page-token\s+(\S+)", text)
    return re.findall(r"^\S+@\S+", text, re.MULTILINE), token and token[1]


def snapshot_delete(id):
    nomad("volume", "snapshot", "delete", "zcsi", id)


def volume_delete(id, verb="delete"):
    """Nomad lets go of a volume a moment after it has listed no claim; till then it is in use."""
    return accepted(nomad, "volume", verb, id)


def healthy(kind, count=None):
    """Whether the plugin has that many Nodes, or Controllers, and all of them are healthy."""
    found = api("plugin/csi/zcsi", {})
    expected = found.get(f"{kind}Expected")
    return found.get(f"{kind}Healthy") == expected and count in (None, expected)


def kill(pid):
    """A daemon, by SIGKILL. What it returns waits until Nomad has looked at its successor. It looks
    every 30 seconds, and whom it finds gone is unhealthy until it looks again."""
    alloc, task = told(pid, "NOMAD_ALLOC_ID"), told(pid, "NOMAD_TASK_NAME")

    def looks():
        return nomad("alloc", "logs", "-stderr", alloc, task).count("GetCapabilities")

    def settle():
        until(lambda: looks() > before, f"Nomad looks at {task}")
        until(lambda: all(healthy(kind) for kind in ("Nodes", "Controllers")), "all are healthy")
    before = looks()
    os.kill(pid, signal.SIGKILL)
    return settle


def volume(id):
    return api(f"volume/csi/{id}")


def allocations(job, status="running"):
    return [found for found in api(f"job/{job}/allocations", [])
            if found["ClientStatus"] == status and found["DesiredStatus"] == "run"]


def blocked(job):
    """Why the scheduler places nothing of it, in its words."""
    return [reason for each in api(f"job/{job}/evaluations", [])
            for metrics in (each.get("FailedTGAllocs") or {}).values()
            for reason in metrics.get("ConstraintFiltered") or {}]


def claims(allocs):
    """The claims, of whatever volume, that these allocations have."""
    return [claim for listed in api("volumes?type=csi", [])
            for claim in (volume(listed["ID"]) or {}).get("Allocations") or []
            if claim["ID"] in allocs]


@contextlib.contextmanager
def drained(node):
    """The client of that id has no allocations but those of system jobs."""
    nomad("node", "drain", "-enable", "-yes", "-ignore-system", "-deadline", "10s", node)
    try:
        yield
    finally:
        nomad("node", "drain", "-disable", "-yes", node)


def is_running(job):
    """Whether a task of it may still run; of a client that is not ready nobody knows."""
    ready = {node["ID"] for node in api("nodes", []) if node["Status"] == "ready"}
    return any(alloc["ClientStatus"] == "running" and alloc["NodeID"] in ready
               for alloc in api(f"job/{job}/allocations", []))


def job_stop(job):
    """Until Nomad has given up the claims of its volumes. OK when there is no such job. Who purges
    a job that runs has Nomad unmount its volumes before its tasks have ended; and, while zcsi-node
    is gone, give up the unmounting."""
    allocs = {alloc["ID"] for alloc in api(f"job/{job}/allocations", [])}
    if api(f"job/{job}"):
        nomad("job", "stop", "-detach", job)
        until(lambda: not is_running(job), f"the tasks of {job} end")
        nomad("job", "stop", "-detach", "-purge", job)
    until(lambda: not claims(allocs), f"{job} claims nothing")


class Consumer:
    """A job that holds a volume, and its allocations."""

    def __init__(self, job, volume, count=1, **variables):
        self.job = job
        self.count = count
        self.allocs = []
        job_run(HERE / "consumer.nomad.hcl", "-detach", job=job, volume=volume, count=count,
                **variables)

    def started(self):
        """Until as many run as the job has; one that fails is not waited for."""
        def running():
            failed = allocations(self.job, "failed")
            assert not failed, self.failure()
            self.allocs = allocations(self.job)
            return len(self.allocs) == self.count
        until(running, f"{self.job} runs")
        return self

    def failure(self):
        """Until an allocation has failed; what its status says."""
        failed = until(lambda: allocations(self.job, "failed"), f"{self.job} fails")
        return " ".join(nomad("alloc", "status", failed[0]["ID"]).split())

    def task(self):
        """The process id of the first allocation's task, which may run before it is there."""
        mine = f"NOMAD_ALLOC_ID={self.allocs[0]['ID']}"
        return until(lambda: next((path.parent.name for path in Path("/proc").glob("[0-9]*/environ")
                                   if mine in read(path)), None), "the task's process")

    def busybox(self, *words, text=None):
        """In the task's namespaces, as its user. By `nomad alloc exec` it would be a child of
        Nomad's executor, which does not always live to see its end."""
        return command("nsenter", "--target", self.task(), "--mount", "--pid", "--root", "--wd",
                       "--setuid", NOBODY, "--setgid", NOBODY, "/bin/busybox", *words, text=text)

    def write(self, name, text):
        self.busybox("tee", f"/data/{name}", text=text)

    def read(self, name):
        return self.busybox("cat", f"/data/{name}")

    def stop(self):
        job_stop(self.job)
