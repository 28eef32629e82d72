# SPDX-License-Identifier: MPL-2.0
"""A client is drained, and a volume follows its job to the other client: by NFS, or because it has
a copy there and moves."""
from pathlib import Path

import pytest

from nomad import accepted, drained, healthy, read, until


@pytest.fixture
def start(second, server, controllers, create, consumer):
    """A function that starts a job with a new volume of these parameters."""
    def make(**parameters):
        controllers(2)
        accepted(create, "films", parameters=parameters)
        return consumer("user", "films").started()
    return make


def client(user):
    return user.allocs[0]["NodeName"]


def filesystem(user):
    """Return the file system type of /data in the task's mount namespace."""
    lines = read(Path("/proc", user.task(), "mountinfo")).splitlines()
    return next(line.split(" - ")[1].split()[0] for line in lines if line.split()[4] == "/data")


def goes_there_and_back(user, filesystems):
    """Drain the client of the job twice. `filesystems`: for each client, the file system type that
    the job sees there."""
    for words in "there", "and back":
        before = client(user)
        user.write(words, f"on {before}")
        until(lambda: healthy("Controllers", 2), "a controller on each client")
        with drained(user.allocs[0]["NodeID"], "-ignore-system"):
            assert client(user.started()) != before
            assert user.read(words) == f"on {before}"
            assert filesystem(user) == filesystems[client(user)]


def test_a_volume_by_nfs_follows_its_job(start):
    goes_there_and_back(start(node="n1", attach="nfs"), {"n1": "zfs", "n2": "nfs4"})


def test_a_volume_with_a_copy_follows_its_job(start):
    goes_there_and_back(start(node="n1", replicas="2"), {"n1": "zfs", "n2": "zfs"})
