# SPDX-License-Identifier: MPL-2.0
"""A history: jobs append records to one volume, which moves among three hosts, by `zcsi move` or by
a drain of its host, while processes are killed, hosts are disconnected, pools filled and clocks
set. A host is lost, another one takes the volume over, and the lost one returns. Random numbers
from a seed choose each event, which is printed as it happens.

The ledger is a list in the memory of the test. A record is in it once fsync has returned, so the
volume must have it from then on."""
import contextlib
import itertools
import os
import random
import time
from pathlib import Path

import grpc

from client import MIB
from copies import create, write
from daemon import wait_for
from host import get, run, Volume

LOG = "records"
PROGRAMS = 12  # about how many programs a move runs on the owner's host
HOUR = 3600


@contextlib.contextmanager
def killed(host):
    """zcsi-node is killed, and started again at the end."""
    host.node_daemon.kill()
    yield
    host.restart(host.node_daemon)


@contextlib.contextmanager
def cut(host):
    """No packet reaches the host or leaves it."""
    host.namespaces.unplug()
    yield
    host.namespaces.plug()


@contextlib.contextmanager
def frozen(host):
    """zcsi-node is stopped, as on a host that is overloaded."""
    with host.frozen():
        yield


@contextlib.contextmanager
def full(host):
    """The host's volumes and copies cannot grow, because of a quota."""
    used = int(get(host.parent, "used"))
    run("zfs", "set", f"quota={used + MIB // 8}", host.parent)
    yield
    run("zfs", "set", "quota=none", host.parent)


@contextlib.contextmanager
def early(_):
    """The clock of all hosts is an hour ahead."""
    def shift(seconds):
        time.clock_settime(time.CLOCK_REALTIME, time.time() + seconds)
    shift(HOUR)
    yield
    shift(-HOUR)


@contextlib.contextmanager
def calm(_):
    """Nothing happens."""
    yield


EVENTS = [killed, cut, frozen, full, early, calm]


def persist(step):
    """Repeat a call as an orchestrator does, until all zcsi-nodes are reached again."""
    def attempt():
        try:
            return step()
        except grpc.RpcError as error:
            assert error.code() is grpc.StatusCode.UNAVAILABLE, error
            return None
    wait_for(attempt, f"{step.__name__} succeeds", 60)


class History:
    """A history on `trio`, a Pair of three hosts. The volume begins on the first one, in use by no
    job."""

    def __init__(self, trio, seed):
        self.trio = trio
        self.random = random.Random(seed)
        self.hosts = {host.node_id: host for host in trio.hosts}
        self.at = "n1"
        self.events = [*EVENTS, self.drained]
        self.ledger = []  # the records that were acknowledged: number, node, epoch
        self.times = {}   # when each of them was, in seconds since 1970
        self.files = {}   # the other files of the volume
        self.numbers = itertools.count()
        print(f"seed {seed}")

    def begin(self):
        create(Volume(self.trio.owner, "data", size=64 * MIB), {"replicas": "3"})
        wait_for(lambda: self.trio.settled(2), "both copies are complete", 60)

    def owners(self):
        """Return the nodes whose pools have the volume itself, not a copy; check that it is at most
        one."""
        found = [node for node, host in self.hosts.items() if "data" in host.leaves()]
        assert len(found) < 2, found
        return found

    def epoch(self):
        value = get(self.hosts[self.at].dataset("data"), "zcsi:epoch")
        return 0 if value == "-" else int(value)

    def append(self, job, epoch):
        """Write a record, wait until it is on the disk, and enter it in the ledger."""
        record = f"{next(self.numbers)} {self.at} {epoch}"
        with open(Path(job.target, LOG), "a", encoding="ascii") as file:
            file.write(record + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.ledger.append(record)
        self.times[record] = time.time()

    def check(self, job):
        """Check that the volume has the records of the ledger, in the same order, and the files
        that were written, and nothing else."""
        found = {path.name: path.read_bytes() for path in Path(job.target).iterdir()
                 if path.is_file()}
        records = found.pop(LOG, b"").decode().split("\n")[:-1]
        assert records == self.ledger
        assert found == self.files

    @contextlib.contextmanager
    def drained(self, host):
        """All volumes of the host had to move, except those in use."""
        self.trio.run("drain", host.node_id)
        yield

    def event(self):
        """Choose an event and a host."""
        return self.random.choice(self.events), self.random.choice(self.trio.hosts)

    def work(self):
        """Run a job on the host that has the volume: it checks what earlier jobs wrote, writes
        during a random event, and ends. No event may stop it, even at zcsi-node of its own host."""
        host = self.hosts[self.at]
        event, whom = self.event()
        if event is full and whom is host:
            event = calm  # the job would have to stop
        print(f"a job on {self.at}; {event.__name__} {whom.node_id}")
        job = self.begin_job()
        self.check(job)
        epoch = self.epoch()
        name = f"file-{len(self.files)}"
        write(job, name, MIB)
        self.files[name] = Path(job.target, name).read_bytes()
        with event(whom):
            for _ in range(self.random.randrange(4)):
                self.append(job, epoch)
            self.owners()
        self.append(job, epoch)
        self.check(job)
        for step in (job.unpublish, job.unstage, job.detach):
            persist(step)

    def other(self):
        """Choose a node that does not have the volume."""
        return self.random.choice([node for node in self.hosts if node != self.at])

    def disturbed(self, to, *words):
        """Begin the command `words`, by which the volume leaves its node. During it an event
        happens, and perhaps a move to the node `to` is cancelled; then the command is killed."""
        event, whom = self.event()
        programs, back = self.random.randrange(PROGRAMS), self.random.random() < 0.2
        print(f"{' '.join(words)}: {event.__name__} {whom.node_id} after {programs} programs"
              f"{f'; to {to} cancelled' if back else ''}")
        daemon = self.hosts[self.at].node_daemon
        start = daemon.mark()
        moving = self.trio.begin(*words)
        wait_for(lambda: len(daemon.runs(start)) >= programs or moving.poll() is not None,
                 "so many programs have run", 60)
        with event(whom):
            self.owners()
            if back:
                self.trio.run("move", "data", to, "--cancel")
        moving.kill()
        moving.wait()

    def repeat(self, *words):
        """Repeat a command until it succeeds."""
        wait_for(lambda: not self.trio.run(*words).returncode, f"{' '.join(words)} succeeds", 120)

    def move(self):
        """Move the volume to another node: disturb a first command, then repeat it."""
        to = self.other()
        self.disturbed(to, "move", "data", to)
        self.repeat("move", "data", to)
        assert self.owners() == [to]
        self.at = to

    def drain(self):
        """Drain the volume's node in the same way; zcsi chooses where the volume moves. A drain may
        end when the volume has left its node; zcsi move ends when the other node has it."""
        former = self.at
        self.disturbed(self.other(), "drain", former)
        self.repeat("drain", former)
        [self.at] = wait_for(self.owners, "a node has the volume")
        assert self.at != former
        self.repeat("move", "data", self.at)

    def begin_job(self):
        job = Volume(self.hosts[self.at], "data")
        for step in (job.attach, job.stage, job.publish):
            persist(step)
        return job

    def heirs(self, lost):
        """Return the other nodes that have the volume itself."""
        return [node for node, host in self.hosts.items()
                if node != lost and "data" in host.leaves()]

    def take_over(self, lost):
        """Another node takes the volume over, perhaps while two operators want it on different
        ones. Returns the time until which the copies were said to have all that was written."""
        words = ("failover", "data", "--lost", lost)
        accept, rivals = (*words, "--accept-loss", "1d"), []
        shown = self.trio.zcsi(*words, "--dry-run", "-Hp").split("\t")
        complete = int(shown[2])
        if time.time() - complete > 2:
            assert self.trio.run(*words, "--accept-loss", "1s").returncode == 1
            assert not self.heirs(lost)
        if self.random.random() < 0.5:
            print("two operators at once")
            rivals = [self.trio.begin(*accept, "--to", node)
                      for node in self.hosts if node != lost]
        for each in rivals:
            each.wait()
        wait_for(lambda: self.heirs(lost) or not self.trio.run(*accept).returncode,
                 "the volume is taken over", 60)
        [self.at] = self.heirs(lost)
        assert rivals or self.at == shown[1]
        return complete

    def check_prefix(self, job, complete):
        """Check that the volume has the first records of the ledger, among them all that were
        acknowledged before the time `complete`; the others are lost. Returns those."""
        records = Path(job.target, LOG).read_text(encoding="ascii").split("\n")[:-1]
        assert records == self.ledger[:len(records)]
        lost = self.ledger[len(records):]
        assert all(self.times[record] >= complete for record in lost), (lost, complete)
        self.ledger = records
        self.check(job)
        return lost

    def check_aside(self, host, written):
        """Check that what the lost host has put aside has all its records; then drop it."""
        [aside] = [leaf for leaf in host.leaves() if leaf.startswith("_diverged/")]
        name, folder = host.dataset(aside), f"{host.folder}/aside"
        run("zfs", "snapshot", f"{name}@look")
        run("zfs", "clone", "-o", "canmount=noauto", "-o", f"mountpoint={folder}", f"{name}@look",
            host.dataset("look"))
        run("zfs", "mount", host.dataset("look"))
        assert Path(folder, LOG).read_text(encoding="ascii").split("\n")[:-1] == written
        run("zfs", "destroy", host.dataset("look"))
        self.trio.zcsi("diverged", "drop", aside.split("/")[1], "--destroy", "1")

    def lose(self):
        """The host of the volume is cut off, or its zcsi-node killed, while a job writes there.
        After the failover, and when the host is back, each record is on the volume, or put aside on
        the host."""
        host, lost = self.hosts[self.at], self.at
        event, pushes = self.random.choice([killed, cut]), self.random.random() < 0.5
        late = self.random.randrange(3)
        print(f"{lost} is lost: {event.__name__}; {late} records late")
        self.repeat("sync", "data")
        job = self.begin_job()
        epoch = self.epoch()
        self.append(job, epoch)
        if pushes:
            self.repeat("sync", "data")
        with event(host):
            for _ in range(late):
                self.append(job, epoch)
            complete = self.take_over(lost)
            heir = self.begin_job()
            written = list(self.ledger)
            gone = self.check_prefix(heir, complete)
            self.append(heir, self.epoch())
        for step in (job.unpublish, job.unstage):
            persist(step)
        wait_for(lambda: "data" not in host.leaves() and "_replica/data" in host.leaves(),
                 "the lost host has a copy", 120)
        if gone:
            self.check_aside(host, written)
        for step in (heir.unpublish, heir.unstage, heir.detach):
            persist(step)

    def check_epochs(self):
        """No two nodes wrote in one epoch, and none wrote in an earlier one than others before."""
        terms = [(int(epoch), node) for _, node, epoch in map(str.split, self.ledger)]
        assert terms == sorted(terms, key=lambda term: term[0])
        assert len({epoch for epoch, _ in terms}) == len(set(terms))

    def run(self):
        self.begin()
        self.work()
        for _ in range(self.random.randint(2, 4)):
            self.random.choice([self.move, self.drain, self.lose])()
            self.work()
        self.check_epochs()
        wait_for(lambda: self.trio.settled(2), "both copies are up to date again", 120)
