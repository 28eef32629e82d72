# SPDX-License-Identifier: MPL-2.0
"""A volume that Nomad creates with a copy on the other client. By their job alone the nodes know
each other's addresses and may call each other. The zcsi command prints how far the copy is
behind."""
import pytest

from host import run
from nomad import accepted, until


@pytest.fixture
def user(second, create, consumer):
    accepted(create, "films", node="n1", parameters={"replicas": "2", "sync_every": "10s"})
    return consumer("user", "films").started()


def test_a_volume_has_a_copy_on_the_other_client(second, user, zcsi_command):
    def shown(*args):
        rows, done = zcsi_command(*args)
        return rows and "ok" in rows[0] and done.returncode == 0 and rows
    until(lambda: shown("copies"), "the copy is complete")
    user.write("words", "on n1")
    rows, done = zcsi_command("sync", "films")
    assert done.returncode == 0, done
    [row] = until(lambda: shown("status"), "all is well")
    assert row[0] == "films" and row[5].startswith("n2 (")
    newest = [run("zfs", "list", "-Hpd1", "-t", "snapshot", "-o", "guid", "-S", "createtxg",
                  name).split()[0]
              for name in ("zcsi-nomad/zcsi/films", f"{second.dataset}/_replica/films")]
    assert newest[0] == newest[1]
