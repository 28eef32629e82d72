# SPDX-License-Identifier: MPL-2.0
"""What is wrong is in what the operator sees."""
import os
import signal

import pytest

from nomad import Refused, process, volume, volume_create


def refused(*args, **kwargs):
    with pytest.raises(Refused) as told:
        volume_create(*args, **kwargs)
    assert volume(args[0]) is None
    return str(told.value)


def test_a_bad_parameter(zcsi):
    assert "'zfs.compresion'" in refused("bad", parameters={"zfs.compresion": "lz4"})


def test_a_bad_value(zcsi):
    text = refused("bad", parameters={"zfs.recordsize": "12345"})
    assert "zfs.recordsize cannot be '12345'; it takes: a power of two from 512" in text


def test_a_full_pool(zcsi):
    text = refused("large", capacity_min="900GiB", parameters={"provisioning": "thick"})
    assert "zcsi-nomad" in text and "space" in text


def test_an_agent_that_does_not_answer(zcsi):
    agent = process("zcsi-node")
    os.kill(agent, signal.SIGSTOP)
    try:
        assert "tcp://10.74.0.1:9740" in refused("lost")
    finally:
        os.kill(agent, signal.SIGCONT)
