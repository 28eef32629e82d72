# SPDX-License-Identifier: MPL-2.0
"""Both daemons run in containers of the image, and a job uses a volume of the host's pool."""
from host import get
from nomad import volume_delete, volumes


def test_a_job_uses_a_volume(zcsi, create, consumer):
    create("data", capacity_min="16MiB")
    assert get(f"{zcsi}/data", "refquota") == str(16 << 20)
    writer = consumer("writer", "data").started()
    writer.write("words", "of the host")
    writer.stop()
    reader = consumer("reader", "data").started()
    assert reader.read("words") == "of the host"
    reader.stop()
    volume_delete("data")
    assert volumes(zcsi) == []
