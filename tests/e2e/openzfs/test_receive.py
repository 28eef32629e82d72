# SPDX-License-Identifier: MPL-2.0
"""Replica.Receive: what becomes a copy, what continues after a cut, and what is refused."""
import os
import random
import subprocess
from pathlib import Path

import grpc
import pytest

from client import MIB, refused, topology
from daemon import wait_for
from host import get, run, Volume
from zvols import zvol

KEY = "0123456789abcdef" * 4
LINEAGE = "00112233aabbccdd"
MEMBERS = f"{LINEAGE}:300:n1,n2"
CHUNK = 64 * 1024
FAULTS = int(os.environ.get("FAULTS", 3))  # number of cut streams, and of streams with a wrong bit


def create(volume, parameters=()):
    volume.create(parameters=dict(parameters), accessibility_requirements=topology("n1"))


def stream_of(*args):
    return subprocess.run(["zfs", "send", *args], stdout=subprocess.PIPE, check=True).stdout


def guid(name):
    return int(get(name, "guid"))


class Source:
    """A volume of n1 and its stream."""

    def __init__(self, host, volume, *flags):
        self.host, self.volume, self.flags = host, volume, flags
        self.name = host.dataset(volume.id)

    def snapshot(self, leaf):
        run("zfs", "snapshot", f"{self.name}@{leaf}")
        return self

    def write(self, name, size=4 * MIB):
        Path(self.volume.target, name).write_bytes(os.urandom(size))
        return self

    def bytes(self, leaf, since=None):
        return stream_of(*self.flags, *(("-i", f"@{since}") if since else ()),
                         f"{self.name}@{leaf}")

    def header(self, leaf, **fields):
        return {"volume": self.volume.record(), "members": MEMBERS, "snapshot": leaf,
                "guid": guid(f"{self.name}@{leaf}"), **fields}

    def push(self, target, leaf, data, **fields):
        """Send data as the stream that ends with the snapshot, and return the copy's state."""
        chunks = ({"data": data[at:at + CHUNK]} for at in range(0, len(data), CHUNK))
        def requests():
            yield {"header": self.header(leaf, **fields)}
            yield from chunks
        return target.agent.Receive.stream(requests()).copy


@pytest.fixture
def two_hosts(new_hosts):
    hosts = new_hosts(2)
    for host in reversed(hosts):
        host.start()
    return hosts


@pytest.fixture
def source(two_hosts):
    volume = Volume(two_hosts[0], "data", size=64 * MIB)
    create(volume, {"zfs.compression": "off"})
    for step in (volume.attach, volume.stage, volume.publish):
        step()
    yield Source(two_hosts[0], volume, "-Lc").write("one").snapshot("one")
    volume.down()


def state(host):
    return host.agent.GetCopy(id="data").copy


def replica(host):
    return host.dataset("_replica/data")


def test_a_received_copy_is_not_listed_as_a_volume(two_hosts, source):
    _, target = two_hosts
    properties = [{"name": "compression", "value": "off"}, {"name": "com.example:a", "value": "b"}]
    copy = source.push(target, "one", source.bytes("one"), properties=properties,
                       snapshot_properties=[{"name": "zcsi:snapshot", "value": "one"}])
    assert copy.name == replica(target) and copy.lineage == LINEAGE and not copy.token
    assert [(row.name, row.guid) for row in copy.snapshots] == [("one", guid(f"{source.name}@one"))]
    assert copy == state(target)
    for name, value in {"refquota": str(64 * MIB), "canmount": "noauto", "readonly": "on",
                        "mounted": "no", "compression": "off", "com.example:a": "b",
                        "zcsi:volume": "data", "zcsi:members": MEMBERS}.items():
        assert get(replica(target), name) == value, name
    assert get(f"{replica(target)}@one", "zcsi:snapshot") == "one"
    target.read_again()
    assert not target.agent.ListDatasets().datasets
    assert not target.agent.ListDatasetSnapshots().snapshots
    assert two_hosts[0].ids() == ["data"]
    source.write("two").snapshot("two")
    copy = source.push(target, "two", source.bytes("two", since="one"))
    assert [row.name for row in copy.snapshots] == ["two", "one"]
    target.agent.DropCopy(id="data", lineage=LINEAGE)
    assert not target.agent.GetCopy(id="data").HasField("copy")
    target.agent.DropCopy(id="data", lineage=LINEAGE)


def test_records_of_snapshots_can_be_set_later(two_hosts, source):
    _, target = two_hosts
    copy = source.push(target, "one", source.bytes("one"))
    record = {"name": "one", "guid": copy.snapshots[0].guid,
              "properties": [{"name": "zcsi:snapshot", "value": "one"}]}

    def describe(*records, **fields):
        target.agent.DescribeCopy(**{"id": "data", "lineage": LINEAGE, "snapshots": records,
                                     **fields})

    assert not copy.snapshots[0].ours
    with refused(grpc.StatusCode.FAILED_PRECONDITION, naming="another volume"):
        describe(record, lineage="f" * 16)
    with refused(grpc.StatusCode.INVALID_ARGUMENT, naming="256"):
        describe(*[record] * 257)
    with refused(grpc.StatusCode.INVALID_ARGUMENT, naming="readonly"):
        describe({**record, "properties": [{"name": "readonly", "value": "off"}]})
    for wrong in ({"guid": 1}, {"name": "two"}):
        with refused(grpc.StatusCode.ABORTED, naming="no snapshot"):
            describe({**record, **wrong})
    with refused(grpc.StatusCode.ABORTED, naming="no snapshot"):
        describe(record, id="none")
    describe(record)
    describe(record)
    assert state(target).snapshots[0].ours


def test_a_cut_stream_is_continued(two_hosts, source):
    _, target = two_hosts
    data = source.bytes("one")
    source.write("two").snapshot("two")
    more = source.bytes("two", since="one")
    for leaf, bytes_ in (("one", data), ("two", more)):
        cut = random.randrange(len(bytes_) // 2, len(bytes_))
        with refused(grpc.StatusCode.UNAVAILABLE, naming="incomplete stream"):
            source.push(target, leaf, bytes_[:cut])
        token = state(target).token
        assert token
        with refused(grpc.StatusCode.ABORTED, grpc.StatusCode.ALREADY_EXISTS):
            source.push(target, leaf, bytes_)
        copy = source.push(target, leaf, stream_of("-t", token))
        assert copy.snapshots[0].name == leaf and not copy.token


def test_a_partial_stream_is_discarded_on_request(two_hosts, source):
    _, target = two_hosts
    data = source.bytes("one")
    with refused(grpc.StatusCode.UNAVAILABLE):
        source.push(target, "one", data[:-MIB])
    assert source.push(target, "one", data, discard=True).snapshots
    source.write("two").snapshot("two")
    more = source.bytes("two", since="one")
    with refused(grpc.StatusCode.UNAVAILABLE):
        source.push(target, "two", more[:-MIB])
    assert source.push(target, "two", more, discard=True).snapshots[0].name == "two"


def test_a_flipped_byte_is_found(two_hosts, source):
    _, target = two_hosts
    data = bytearray(source.bytes("one"))
    data[len(data) // 2] ^= 0x40
    with refused(grpc.StatusCode.UNAVAILABLE, naming="checksum"):
        source.push(target, "one", bytes(data))
    assert not state(target).snapshots


def at_random(data):
    """Return FAULTS places in the data. They are shown if the test fails."""
    places = [random.randrange(len(data)) for _ in range(FAULTS)]
    print("places:", places)
    return places


def test_a_stream_may_end_at_each_byte(two_hosts, source):
    _, target = two_hosts
    data = source.bytes("one")
    for place in at_random(data):
        with refused(grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL):
            source.push(target, "one", data[:place])
        left = target.agent.GetCopy(id="data").copy
        assert not left.snapshots
        rest = stream_of("-t", left.token) if left.token else data
        copy = source.push(target, "one", rest)
        assert [row.guid for row in copy.snapshots] == [guid(f"{source.name}@one")]
        target.agent.DropCopy(id="data", lineage=LINEAGE)


def test_each_false_bit_is_found(two_hosts, source):
    _, target = two_hosts
    data = source.bytes("one")
    for place in at_random(data):
        false = bytearray(data)
        false[place] ^= 1 << random.randrange(8)
        with pytest.raises(grpc.RpcError):
            source.push(target, "one", bytes(false))
        assert not target.agent.GetCopy(id="data").copy.snapshots
        assert source.push(target, "one", data, discard=True).snapshots
        target.agent.DropCopy(id="data", lineage=LINEAGE)


def test_a_receive_that_runs_full_gives_its_space_back(two_hosts, source):
    _, target = two_hosts
    run("zfs", "set", f"quota={2 * MIB}", target.parent)
    with refused(grpc.StatusCode.RESOURCE_EXHAUSTED):
        source.push(target, "one", source.bytes("one"))
    assert not target.agent.GetCopy(id="data").HasField("copy")
    run("zfs", "set", f"quota={6 * MIB}", target.parent)
    source.push(target, "one", source.bytes("one"))
    source.write("two").snapshot("two")
    with refused(grpc.StatusCode.RESOURCE_EXHAUSTED):
        source.push(target, "two", source.bytes("two", since="one"))
    assert not state(target).token and [row.name for row in state(target).snapshots] == ["one"]


def test_a_killed_receiver_leaves_a_stream_that_can_be_continued(two_hosts, source):
    _, target = two_hosts
    data = source.bytes("one")
    def requests():
        yield {"header": source.header("one")}
        for at in range(0, len(data) - MIB, CHUNK):
            yield {"data": data[at:at + CHUNK]}
        target.node_daemon.kill()
    with pytest.raises(grpc.RpcError):
        target.agent.Receive.stream(requests())
    target.restart(target.node_daemon)
    wait_for(lambda: target.controller.ListVolumes.future().code() == grpc.StatusCode.OK,
             "the zfs receive of the killed zcsi-node has ended", 60)
    copy = source.push(target, "one", stream_of("-t", state(target).token))
    assert copy.snapshots[0].guid == guid(f"{source.name}@one")


def test_wrong_streams_are_refused(two_hosts, source):
    owner, target = two_hosts
    data = source.bytes("one")
    with refused(grpc.StatusCode.FAILED_PRECONDITION, naming="holds volume 'data'"):
        source.push(owner, "one", data)
    with refused(grpc.StatusCode.INVALID_ARGUMENT, naming="no header"):
        target.agent.Receive.stream([{"data": data[:CHUNK]}])
    with refused(grpc.StatusCode.INVALID_ARGUMENT, naming="no header"):
        target.agent.Receive.stream([])
    with refused(grpc.StatusCode.INVALID_ARGUMENT, naming="members"):
        source.push(target, "one", data, members="../..")
    with refused(grpc.StatusCode.FAILED_PRECONDITION, naming="zcsi copy add data n2"):
        source.push(target, "one", data, members=f"{LINEAGE}:300:n1,n3")
    with refused(grpc.StatusCode.INVALID_ARGUMENT, naming="mountpoint"):
        source.push(target, "one", data, properties=[{"name": "mountpoint", "value": "/etc"}])
    with refused(grpc.StatusCode.INVALID_ARGUMENT, naming="no property of a record"):
        source.push(target, "one", data,
                    snapshot_properties=[{"name": "com.example:a", "value": "b"}])
    assert not target.agent.GetCopy(id="data").HasField("copy")
    with refused(grpc.StatusCode.ABORTED, naming="guid"):
        source.push(target, "one", data, guid=1)
    with refused(grpc.StatusCode.FAILED_PRECONDITION, naming="another volume"):
        source.push(target, "one", data, members=MEMBERS.replace(LINEAGE, "f" * 16))
    with refused(grpc.StatusCode.FAILED_PRECONDITION, naming="another volume"):
        target.agent.DropCopy(id="data", lineage="f" * 16)
    with refused(grpc.StatusCode.INTERNAL, naming="invalid stream"):
        source.push(target, "one", b"garbage" * 1000)
    assert [row.name for row in state(target).snapshots] == ["one"]


def test_an_encrypted_volume_stays_encrypted(two_hosts):
    owner, target = two_hosts
    volume = Volume(owner, "data", size=64 * MIB)
    volume.secrets = {"encryption_key": KEY}
    create(volume, {"zfs.encryption": "aes-256-gcm"})
    source = Source(owner, volume, "-w").snapshot("one")
    assert get(source.name, "keystatus") == "unavailable"
    source.push(target, "one", source.bytes("one"))
    assert get(replica(target), "encryptionroot") == replica(target)
    assert get(replica(target), "keystatus") == "unavailable"


def test_a_grown_zvol_is_received(two_hosts):
    owner, target = two_hosts
    volume = zvol(owner, "data", "ext4")
    create(volume)
    source = Source(owner, volume, "-Lc").snapshot("one")
    source.push(target, "one", source.bytes("one"), formatted=True)
    volume.expand(2 * volume.size)
    source.snapshot("two")
    source.push(target, "two", source.bytes("two", since="one"), formatted=True)
    assert int(get(replica(target), "volsize")) == 2 * volume.size
    assert get(replica(target), "zcsi:format") == "ext4"
    assert not os.path.exists(f"/dev/zvol/{replica(target)}")
