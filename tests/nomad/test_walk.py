# SPDX-License-Identifier: MPL-2.0
"""The commands that jobs/README.md gives to an operator, with the files of jobs/."""
import subprocess
import time

import pytest

from client import MIB, ROOT
from host import datasets, get, run
from nomad import (
    PROGRAM, Refused, accepted, allocations, api, command, job_run, job_stop, nomad,
    snapshot_delete, snapshots, tried, until, volume_create, volume_delete, volumes)

JOBS = ROOT / "jobs"


class Redis:
    """The Redis of an allocation, called by redis-cli through the socket in the shared folder."""

    def __init__(self, agent, alloc):
        self.socket = agent.data / "alloc" / alloc["ID"] / "alloc/redis.sock"

    def __call__(self, *words):
        return command("redis-cli", "-s", self.socket, *words).strip()

    def answers(self):
        return tried(self, "PING") == "PONG"


@pytest.fixture
def databases(zcsi, agent):
    """A function that runs the job with these variables and returns a Redis for each allocation, by
    its name, once it answers. An allocation is running before its database listens."""
    def run(job="database", count=1, **variables):
        job_run(JOBS / "database.nomad.hcl", job=job, count=count, **variables)
        found = {alloc["Name"]: Redis(agent, alloc) for alloc in allocations(job)}
        assert len(found) == count
        until(lambda: all(redis.answers() for redis in found.values()), f"{job} answers")
        return found
    return run


@pytest.fixture(autouse=True)
def nothing_stays(zcsi):
    yield
    for job in api("jobs"):
        if not job["ID"].startswith("zcsi-"):
            job_stop(job["ID"])
    for each in api("volumes?type=csi"):
        volume_delete(each["ID"])
    for id in snapshots()[0]:
        snapshot_delete(id)


def test_a_database_is_resized_and_restored(zcsi, databases, tmp_path):
    def database(**variables):
        redis, = databases(**variables).values()
        return redis
    nomad("volume", "create", JOBS / "database.volume.hcl")
    redis = database()
    assert redis("SET", "day", "monday") == "OK"

    larger = tmp_path / "larger.hcl"
    larger.write_text((JOBS / "database.volume.hcl").read_text().replace("64MiB", "96MiB"))
    nomad("volume", "create", larger)
    assert get(f"{zcsi}/default.database", "refquota") == str(96 * MIB)

    nomad("volume", "snapshot", "create", "database", "monday")
    assert redis("SET", "day", "tuesday") == "OK"
    nomad("volume", "create", JOBS / "restored.volume.hcl")
    assert database(volume="restored")("GET", "day") == "monday"
    assert database()("GET", "day") == "tuesday"

    volume_delete("restored")
    nomad("volume", "snapshot", "delete", "zcsi", "default.database@monday")


def test_namespaces_do_not_share_a_volume(zcsi, databases):
    """A volume file that was copied for another namespace, and keeps the volume's name, is
    refused."""
    nomad("volume", "create", JOBS / "database.volume.hcl")
    redis, = databases().values()
    assert redis("SET", "owner", "default") == "OK"
    nomad("namespace", "apply", "dev")
    text = (JOBS / "database.volume.hcl").read_text()
    copied = text.replace('namespace" = "default"', 'namespace" = "dev"').replace("64MiB", "96MiB")
    with pytest.raises(Refused, match="'default.database' already exists with other parameters: "
                       "zfs.user.nomad:namespace is 'default', the request asks for 'dev'; "
                       "choose another"):
        nomad("volume", "create", "-namespace", "dev", "-", text=copied)
    assert api("volumes?type=csi&namespace=dev") == []
    assert redis("GET", "owner") == "default"
    own = copied.replace("default.database", "dev.database")
    nomad("volume", "create", "-namespace", "dev", "-", text=own)
    assert volumes(zcsi) == [f"{zcsi}/default.database", f"{zcsi}/dev.database"]
    accepted(nomad, "volume", "delete", "-namespace", "dev", "database")
    nomad("namespace", "delete", "dev")
    assert volumes(zcsi) == [f"{zcsi}/default.database"]
    assert redis("GET", "owner") == "default"


def test_a_deleted_volume_is_brought_back(zcsi, databases):
    name = f"{zcsi}/default.database"
    nomad("volume", "create", JOBS / "database.volume.hcl")
    redis, = databases().values()
    assert redis("SET", "day", "monday") == "OK"
    job_stop("database")
    before = set(datasets(zcsi))
    volume_delete("database")
    leaf, = set(datasets(zcsi)) - before - {f"{zcsi}/_trash"}
    assert leaf == f"{zcsi}/_trash/default.database-{get(leaf, 'guid')}"
    until(lambda: not subprocess.run(["zfs", "rename", leaf, name]).returncode, "zfs renames it")
    run("zfs", "inherit", "zcsi:deleted", name)
    nomad("volume", "create", JOBS / "database.volume.hcl")
    redis, = databases().values()
    assert redis("GET", "day") == "monday"


def test_each_allocation_finds_its_shard_again(databases):
    shard = (JOBS / "shard.volume.hcl").read_text()
    nomad("volume", "create", JOBS / "shard.volume.hcl")
    nomad("volume", "create", "-", text=shard.replace("[0]", "[1]"))
    shards = {"job": "shards", "volume": "shard", "count": 2}
    for name, redis in databases(**shards).items():
        assert redis("SET", "mine", name) == "OK"
    job_stop("shards")
    for name, redis in databases(**shards).items():
        assert redis("GET", "mine") == name


def runs(job):
    return {each["ID"] for each in api(f"jobs?prefix={job}/")}


def forced(job):
    """Run a periodic job at once, and wait until it has succeeded and the next second has begun:
    the names of Nomad's runs and of the job's snapshots have a resolution of one second."""
    before = runs(job)
    nomad("job", "periodic", "force", job)
    run, = runs(job) - before

    def complete():
        assert not allocations(run, "failed")
        return allocations(run, "complete")
    until(complete, f"{run} is complete")
    ended = int(time.time())
    until(lambda: int(time.time()) > ended, "the next second")


def test_the_newest_snapshots_are_kept():
    nomad("volume", "create", JOBS / "database.volume.hcl")
    volume_create("acme")
    others = {"default.database@monday", "default.database@dev.database-daily-20260131T000000Z",
              "acme@default.acme-daily-20260131T000000Z"}
    for each in others:
        nomad("volume", "snapshot", "create", *each.removeprefix("default.").split("@"))
    volume_create("shard_1")
    job_run(JOBS / "snapshots.nomad.hcl", job="daily", cron="@yearly", keep=2, program=PROGRAM,
            volumes='["database", "shard_1"]')
    taken = []
    for _ in range(3):
        before = set(snapshots()[0])
        forced("daily")
        new = sorted(set(snapshots()[0]) - before)
        database, shard = new
        assert database.startswith("default.database@default.database-daily-")
        assert shard.startswith("shard_1@default.shard_5F1-daily-")
        taken.append(new)
    assert set(snapshots()[0]) == {*others, *taken[1], *taken[2]}
