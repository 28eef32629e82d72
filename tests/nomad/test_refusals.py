# SPDX-License-Identifier: MPL-2.0
"""The error message of a refused call reaches the operator."""
import contextlib
import os
import signal

import pytest

from host import get, run
from nomad import (Refused, accepted, next_probe, paused, processes, volume, volume_create,
                   volume_delete)

AGENT = "tcp://10.74.0.1:9740"


def refused(*args, **kwargs):
    with pytest.raises(Refused) as told:
        volume_create(*args, **kwargs)
    assert volume(args[0]) is None
    return str(told.value)


def test_an_unknown_parameter_is_refused(zcsi):
    assert "'zfs.compresion'" in refused("bad", parameters={"zfs.compresion": "lz4"})


def test_a_wrong_value_is_refused(zcsi):
    text = refused("bad", parameters={"zfs.recordsize": "12345"})
    assert "zfs.recordsize cannot be '12345'; it takes: a power of two from 512" in text


def test_a_volume_in_a_full_pool_is_refused(zcsi, create):
    """Emptying the trash early, which the second volume brings, makes too little room."""
    thick = {"provisioning": "thick"}
    much = int(get(zcsi, "available")) * 2 // 3
    create("most", capacity_min=much, parameters=thick)
    text = refused("late", capacity_min=much, parameters=thick)
    assert "free space in the pool or add a device" in text


def test_a_volume_larger_than_the_pool_is_refused(zcsi):
    text = refused("large", capacity_min="900GiB", parameters={"provisioning": "thick"})
    assert "zcsi-nomad" in text and "space" in text


@pytest.fixture
def no_pool(zcsi, folder):
    """A context in which the pool is exported; its value is the text that errors must contain."""
    pool = zcsi.split("/", 1)[0]

    @contextlib.contextmanager
    def exported():
        run("zpool", "export", pool)
        try:
            yield f"there is no pool '{pool}' on this host; import it"
        finally:
            run("zpool", "import", "-o", "cachefile=none", "-d", folder, pool)
            os.kill(*processes("zcsi-node"), signal.SIGHUP)
    yield exported()
    accepted(volume_create, "again")
    volume_delete("again")


def test_a_volume_in_a_missing_pool_is_refused(no_pool):
    with no_pool as problem:
        assert problem in refused("lost")


def test_an_allocation_fails_without_its_pool(create, consumer, no_pool):
    create("data")
    with no_pool as problem:
        assert problem in consumer("user", "data").failure()


def test_a_volume_is_refused_while_the_agent_does_not_answer(zcsi):
    with paused("zcsi-node"):
        assert f"agent '{AGENT}' did not report" in refused("lost")


def test_an_allocation_fails_while_its_agent_does_not_answer(create, consumer):
    """Nomad places no allocation on a client whose zcsi-node has failed a probe, and this or the
    previous test may stop zcsi-node during a probe. So wait for a probe that succeeds: the next one
    is 30 seconds away."""
    create("data")
    for pid in processes("zcsi-node"):
        next_probe(pid)()
    with paused("zcsi-node"):
        user = consumer("user", "data")
        assert f"agent '{AGENT}' did not report" in user.failure()


def test_an_allocation_fails_without_its_dataset(zcsi, create, consumer):
    create("data")
    run("zfs", "destroy", f"{zcsi}/data")
    assert "does not exist" in consumer("user", "data").failure()
