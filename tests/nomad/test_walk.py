# SPDX-License-Identifier: MPL-2.0
"""What jobs/README.md tells an operator to type, with the files of jobs/."""
import pytest

from client import MIB, ROOT
from host import get
from nomad import allocations, job_run, job_stop, nomad, tried, until, volume, volume_delete

JOBS = ROOT / "jobs"


def redis(*words):
    """redis-cli in the allocation that runs; None when it cannot connect."""
    found = until(lambda: allocations("database"), "the database runs")
    said = tried(nomad, "alloc", "exec", "-i=false", "-t=false", found[0]["ID"],
                 "/usr/bin/redis-cli", "-s", "/alloc/redis.sock", *words)
    return said and said.strip()


def database_run(**variables):
    """An allocation runs before its database listens."""
    job_run(JOBS / "database.nomad.hcl", **variables)
    until(lambda: redis("PING") == "PONG", "the database answers")


@pytest.fixture
def database(zcsi):
    nomad("volume", "create", JOBS / "database.volume.hcl")
    database_run()
    yield
    job_stop("database")
    for name in ("restored", "database"):
        if volume(name):
            volume_delete(name)


def test_a_database_is_resized_and_restored(zcsi, database, tmp_path):
    assert redis("SET", "day", "monday") == "OK"

    larger = tmp_path / "larger.hcl"
    larger.write_text((JOBS / "database.volume.hcl").read_text().replace("64MiB", "96MiB"))
    nomad("volume", "create", larger)
    assert get(f"{zcsi}/database", "refquota") == str(96 * MIB)

    nomad("volume", "snapshot", "create", "database", "monday")
    assert redis("SET", "day", "tuesday") == "OK"
    nomad("volume", "create", JOBS / "restored.volume.hcl")
    database_run(volume="restored")
    assert redis("GET", "day") == "monday"

    database_run()
    assert redis("GET", "day") == "tuesday"

    volume_delete("restored")
    nomad("volume", "snapshot", "delete", "zcsi", "database@monday")
