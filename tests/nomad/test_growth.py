# SPDX-License-Identifier: MPL-2.0
"""A volume grows while an allocation uses it."""
from client import MIB
from nomad import volume, volume_create


def size(consumer):
    """Return the size of the volume in KiB, as the allocation sees it."""
    return int(consumer.busybox("df", "-k", "/data").splitlines()[-1].split()[-5])


def test_a_running_allocation_sees_the_new_size(create, consumer):
    create("data", capacity_min="16MiB")
    user = consumer("user", "data").started()
    before = size(user)
    volume_create("data", capacity_min="64MiB")
    assert volume("data")["Capacity"] == 64 * MIB
    assert size(user) - before >= 47 * 1024
    user.busybox("dd", "if=/dev/urandom", "of=/data/much", "bs=1M", "count=32")
