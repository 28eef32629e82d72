# SPDX-License-Identifier: MPL-2.0
"""Allocations claim volumes: in sequence, at the same time, and in conflict."""
import pytest

from nomad import Refused, blocked, nomad, until, volume

READER = "single-node-reader-only"


def test_the_next_allocation_reads_what_the_last_wrote(create, consumer):
    create("data")
    writer = consumer("writer", "data").started()
    writer.write("words", "that last")
    writer.stop()
    assert consumer("reader", "data").started().read("words") == "that last"


def test_a_second_writer_waits_for_the_first(create, consumer):
    create("data")
    first = consumer("first", "data").started()
    second = consumer("second", "data")
    until(lambda: blocked("second"), "the second is refused")
    assert "has exhausted its available writer claims" in blocked("second")[0]
    assert blocked("second")[0] in " ".join(nomad("job", "status", "second").split())
    first.stop()
    second.started().write("words", "mine")


def test_a_reader_only_reads(create, consumer):
    """The reader runs after the writer, because Nomad allows one claim on a volume of one node,
    whatever the claim's mode."""
    create("data", "single-node-writer", READER)
    writer = consumer("writer", "data").started()
    writer.write("words", "for the reader")
    writer.stop()
    reader = consumer("reader", "data", access_mode=READER, read_only=True).started()
    assert reader.read("words") == "for the reader"
    with pytest.raises(Refused, match="Read-only file system"):
        reader.write("words", "no")


def test_a_volume_is_read_while_another_is_written(create, consumer):
    """Both allocations run on one client. Nomad has a separate staging path for each access mode of
    a volume."""
    for name in ("data", "more"):
        create(name, "single-node-writer", READER)
    reader = consumer("reader", "data", access_mode=READER, read_only=True).started()
    writer = consumer("writer", "more").started()
    writer.write("words", "its own")
    assert writer.read("words") == "its own"
    with pytest.raises(Refused, match="Read-only file system"):
        reader.write("words", "no")
    assert reader.busybox("ls", "/data") == ""


def test_each_allocation_gets_its_own_volume(create, consumer):
    create("data[0]")
    create("data[1]")
    both = consumer("both", "data", per_alloc=True, count=2).started()
    for alloc in both.allocs:
        index = alloc["Name"][-3:]
        assert [claim["ID"] for claim in volume(f"data{index}")["Allocations"]] == [alloc["ID"]]
