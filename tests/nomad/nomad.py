# SPDX-License-Identifier: MPL-2.0
"""A real `nomad agent`, used through its command line as an operator would, and through its HTTP
API where tests wait for a condition."""
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
from host import datasets
from processes import of_program

HERE = Path(__file__).parent
PROGRAM = BUILD / f"nomad/nomad-{os.environ.get('NOMAD', '1.11')}"
ADDRESSES = {"n1": "10.74.0.1", "n2": "10.74.0.2"}  # created by tests/nomad/alone
SERVER = f"http://{ADDRESSES['n1']}:4646"
os.environ["NOMAD_ADDR"] = SERVER
os.environ["NOMAD_VAR_log_level"] = "debug"  # for the jobs of the daemons
NOBODY = 65534  # the id of the user nobody, as whom Nomad's exec driver runs tasks
# The host's files that a task of the exec driver can use, besides the libraries of these programs.
TOOLS = ("/bin/busybox", "/usr/bin/redis-server", "/usr/bin/redis-cli")
FILES = ("/etc/passwd", "/etc/group")
SOON = 15  # seconds from the start of a daemon until Nomad has to use it
# Nomad itself pauses for seconds between retries; the deadline only bounds a failing test.
until = functools.partial(wait_for, seconds=180, pause=0.1)

SPEC = """
id        = "{id}"
name      = "{name}"
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


def spec(id, *modes, name=None, flags=(), node=None, parameters=None, **fields):
    """Return the text of a volume file; `fields` are its top-level entries, such as capacity_min.
    Nomad 1.6 treats a missing capacity_max as 0, so capacity_min is used for it."""
    if "capacity_min" in fields:
        fields = {"capacity_max": fields["capacity_min"], **fields}

    def lines(words):
        return "\n".join(f'"{key}" = "{value}"' for key, value in (words or {}).items())
    return SPEC.format(
        id=id, name=name or id, nobody=NOBODY, fields=lines(fields), parameters=lines(parameters),
        flags=json.dumps(flags), topology=TOPOLOGY.format(node) if node else "",
        capabilities="".join(CAPABILITY.format(m) for m in modes or ["single-node-writer"]))


class Refused(Exception):
    """Raised if a nomad command fails, with its output without colours and line breaks."""


def command(*words, text=None):
    """Run a command and return its output; raise Refused if it fails."""
    done = subprocess.run([str(word) for word in words], input=text, capture_output=True,
                          text=True, timeout=180 * PATIENCE)
    if done.returncode == 0:
        return done.stdout
    raise Refused(" ".join(re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr).split()))


def chroot():
    """Return a map for chroot_env: each file's real path and the path at which tasks use it."""
    needed = subprocess.run(["ldd", *TOOLS], capture_output=True, text=True).stdout
    names = [*TOOLS, *FILES, *re.findall(r"(/\S+) \(0x", needed)]
    return {os.path.realpath(name): name for name in names}


class Agent:
    """A Nomad client agent. Its name is also that of its network interface and its datacenter.
    Its tasks are not its child processes: they end only if Nomad stops them or the process
    namespace ends."""

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

    def reload(self):
        self.process.send_signal(signal.SIGHUP)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60 * PATIENCE)


def read(path):
    """Return the text of a file of /proc; empty if the process has ended."""
    try:
        return path.read_text()
    except OSError:
        return ""


def processes(program):
    """Return the ids of the processes of this program; the pid namespace hides those of another
    Nomad on the host."""
    return of_program(str(BUILD / program))


def told(pid, name):
    """Return the value of the variable `name`, such as CSI_ENDPOINT, in a daemon's environment."""
    return re.search(rf"(?:^|\0){name}=([^\0]+)", read(Path("/proc", str(pid), "environ")))[1]


@contextlib.contextmanager
def paused(program):
    """Stop all processes of a program by SIGSTOP, so that their calls do not end; then continue."""
    pids = processes(program)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def api(path, otherwise=None):
    """Return the API's response as JSON; `otherwise` if it cannot be reached or reports an
    error."""
    try:
        with urllib.request.urlopen(f"{SERVER}/v1/{path}", timeout=60 * PATIENCE) as answer:
            return json.load(answer)
    except (urllib.error.URLError, ConnectionError):
        return otherwise


def nomad(*words, text=None):
    return command(PROGRAM, *words, text=text)


def tried(call, *args, **kwargs):
    """Return the call's result, or None if Nomad refuses it."""
    try:
        return call(*args, **kwargs)
    except Refused:
        return None


def accepted(call, *args, **kwargs):
    """Repeat the call until it succeeds and return its result; fail with the last refusal."""
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
    """Return a list of the ids of all snapshots, or of one page, and the token of the next page."""
    text = nomad("volume", "snapshot", "list", "-plugin", "zcsi", *options)
    token = re.search(r"-page-token\s+(\S+)", text)
    return re.findall(r"^\S+@\S+", text, re.MULTILINE), token and token[1]


def snapshot_delete(id):
    nomad("volume", "snapshot", "delete", "zcsi", id)


def volume_delete(id, verb="delete"):
    """Delete a volume. The command is repeated, because Nomad reports the volume as in use for a
    moment after its last claim has gone from the list."""
    return accepted(nomad, "volume", verb, id)


def healthy(kind, count=None):
    """True if the plugin has `count` Nodes or Controllers (any number by default), all healthy."""
    found = api("plugin/csi/zcsi", {})
    expected = found.get(f"{kind}Expected")
    return found.get(f"{kind}Healthy") == expected and count in (None, expected)


def next_probe(pid):
    """Return a function that waits until Nomad has probed the daemon, or the one that has replaced
    it, and reports the plugin as healthy. Nomad probes every 30 seconds, and a daemon that fails a
    probe stays unhealthy until the next probe."""
    alloc, task = told(pid, "NOMAD_ALLOC_ID"), told(pid, "NOMAD_TASK_NAME")

    def looks():
        return nomad("alloc", "logs", "-stderr", alloc, task).count("GetCapabilities")

    def settle():
        until(lambda: looks() > before, f"Nomad looks at {task}")
        until(lambda: all(healthy(kind) for kind in ("Nodes", "Controllers")), "all are healthy")
    before = looks()
    return settle


def kill(pid):
    """Kill a daemon by SIGKILL. Return a function that waits for the one that replaces it."""
    settle = next_probe(pid)
    os.kill(pid, signal.SIGKILL)
    return settle


def volumes(parent):
    """Return the names of the datasets of all volumes, without those in the trash."""
    return [name for name in datasets(parent) if not name.startswith(f"{parent}/_trash")]


def volume(id):
    return api(f"volume/csi/{id}")


def mounted(alloc):
    """Return whether a volume is mounted for the allocation with this id."""
    return f"/per-alloc/{alloc}/" in read(Path("/proc/self/mountinfo"))


def allocations(job, status="running"):
    return [found for found in api(f"job/{job}/allocations", [])
            if found["ClientStatus"] == status and found["DesiredStatus"] == "run"]


def blocked(job):
    """Return the reasons, as the scheduler words them, for which it does not place the job."""
    return [reason for each in api(f"job/{job}/evaluations", [])
            for metrics in (each.get("FailedTGAllocs") or {}).values()
            for reason in metrics.get("ConstraintFiltered") or {}]


def claims(allocs):
    """Return the claims of these allocations on any volume."""
    return [claim for listed in api("volumes?type=csi", [])
            for claim in (volume(listed["ID"]) or {}).get("Allocations") or []
            if claim["ID"] in allocs]


@contextlib.contextmanager
def drained(node, *options):
    """Within the block, the client with this id is drained of its allocations; the option
    "-ignore-system" leaves those of system jobs there."""
    nomad("node", "drain", "-enable", "-yes", "-deadline", "10s", *options, node)
    try:
        yield
    finally:
        nomad("node", "drain", "-disable", "-yes", node)


def is_running(job):
    """True if a task of the job may still run. Tasks on clients that are not ready are ignored,
    because their state is unknown."""
    ready = {node["ID"] for node in api("nodes", []) if node["Status"] == "ready"}
    return any(alloc["ClientStatus"] == "running" and alloc["NodeID"] in ready
               for alloc in api(f"job/{job}/allocations", []))


def job_stop(job):
    """Stop and purge a job and wait until Nomad has released its claims; OK if the job does not
    exist. The job is stopped before it is purged: if a running job is purged, Nomad unmounts its
    volumes before its tasks have ended, and gives up unmounting them if zcsi-node is down."""
    allocs = {alloc["ID"] for alloc in api(f"job/{job}/allocations", [])}
    if api(f"job/{job}"):
        nomad("job", "stop", "-detach", job)
        until(lambda: not is_running(job), f"the tasks of {job} end")
        nomad("job", "stop", "-detach", "-purge", job)
    until(lambda: not claims(allocs), f"{job} claims nothing")


class Consumer:
    """A job that claims a volume, with its allocations."""

    def __init__(self, job, volume, count=1, **variables):
        self.job = job
        self.count = count
        self.allocs = []
        job_run(HERE / "consumer.nomad.hcl", "-detach", job=job, volume=volume, count=count,
                **variables)

    def started(self):
        """Wait until all allocations run; fail at once if one of them fails."""
        def running():
            failed = allocations(self.job, "failed")
            assert not failed, self.failure()
            self.allocs = allocations(self.job)
            return len(self.allocs) == self.count
        try:
            until(running, f"{self.job} runs")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{nomad('job', 'status', self.job)}") from error
        return self

    def evaluated(self):
        """Have Nomad evaluate the job again once no volume is claimed by allocations that run no
        more. It does so by itself when a client or an allocation changes, but not when it has
        released a volume (hashicorp/nomad#25245), which may be later if the client was down."""
        ended = {alloc["ID"] for alloc in self.allocs} - {
            alloc["ID"] for alloc in allocations(self.job)}
        until(lambda: not claims(ended), "Nomad has released the volume")
        nomad("job", "eval", "-detach", self.job)
        return self

    def failure(self):
        """Wait until an allocation has failed and return the text of its status."""
        failed = until(lambda: allocations(self.job, "failed"), f"{self.job} fails")
        return " ".join(nomad("alloc", "status", failed[0]["ID"]).split())

    def task(self):
        """Return the process id of the first allocation's task. Nomad may report the task as
        running before its process exists."""
        mine = f"NOMAD_ALLOC_ID={self.allocs[0]['ID']}"
        return until(lambda: next((path.parent.name for path in Path("/proc").glob("[0-9]*/environ")
                                   if mine in read(path)), None), "the task's process")

    def busybox(self, *words, text=None):
        """Run busybox in the task's namespaces as its user. `nomad alloc exec` is not used: its
        process would be a child of Nomad's executor, which sometimes ends before it does."""
        return command("nsenter", "--target", self.task(), "--mount", "--pid", "--root", "--wd",
                       "--setuid", NOBODY, "--setgid", NOBODY, "/bin/busybox", *words, text=text)

    def write(self, name, text):
        self.busybox("tee", f"/data/{name}", text=text)

    def read(self, name):
        return self.busybox("cat", f"/data/{name}")

    def stop(self):
        job_stop(self.job)
