# SPDX-License-Identifier: MPL-2.0
"""A volume of one client that a second client mounts by NFS: it can follow its job to either."""
from pathlib import Path

import pytest

from nomad import accepted, drained, healthy, read, until

FILESYSTEM = {"n1": "zfs", "n2": "nfs4"}  # the file system type of the volume on each client


@pytest.fixture
def user(second, server, controllers, create, consumer):
    """A job that uses a volume of n1."""
    controllers(2)
    accepted(create, "films", parameters={"node": "n1", "attach": "nfs"})
    return consumer("user", "films").started()


def client(user):
    return user.allocs[0]["NodeName"]


def filesystem(user):
    """Return the file system type of /data in the task's mount namespace."""
    lines = read(Path("/proc", user.task(), "mountinfo")).splitlines()
    return next(line.split(" - ")[1].split()[0] for line in lines if line.split()[4] == "/data")


def test_a_volume_follows_its_job_when_a_client_is_drained(user):
    for words in "there", "and back":
        before = client(user)
        user.write(words, f"on {before}")
        until(lambda: healthy("Controllers", 2), "a controller on each client")
        with drained(user.allocs[0]["NodeID"], "-ignore-system"):
            assert client(user.started()) != before
            assert user.read(words) == f"on {before}"
            assert filesystem(user) == FILESYSTEM[client(user)]
