# SPDX-License-Identifier: MPL-2.0
"""Both jobs make one plugin, which is healthy."""
from daemon import BUILD
from host import run
from nomad import nomad


def test_its_status(zcsi):
    rows = dict(row.split("=", 1) for row in nomad("plugin", "status", "zcsi").splitlines()
                if "=" in row)
    status = {key.strip(): value.strip() for key, value in rows.items()}
    assert status["Version"] == run(BUILD / "zcsi-node", "--version").split()[-1]
    assert status["Provider"] == "zcsi.zfs"
    assert {status[f"{kind} {what}"] for kind in ("Controllers", "Nodes")
            for what in ("Healthy", "Expected")} == {"1"}
