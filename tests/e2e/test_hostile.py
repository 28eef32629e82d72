# SPDX-License-Identifier: MPL-2.0
"""Names that would be dangerous in a path, a shell or a ZFS name; invalid text and messages."""
import contextlib
import os
import random

import grpc
import pytest

from client import capability, csi, METHODS, MIB, refused
from host import get, Volume

CODE = grpc.StatusCode
NAMES = ["../x", "a@b", "vol[0]", "a/b", "-r", "ü" * 64, "x" * 128, "漢" * 42, "two words", ".",
         "..", "_trash", "line\nbreak", "tab\there", "%s%n", "$(id)", "'; rm -rf", "#b", "a_2Fb",
         "*", "~", "\\", "\"quoted\"", "{}", "=", ",", "A", "a"]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_any_name_lives_a_whole_life(host, name):
    volume = Volume(host, name).up()
    assert volume.create().volume.volume_id == name
    assert host.ids() == [name]
    leaf, = host.leaves()
    assert "/" not in leaf and get(host.dataset(leaf), "zcsi:published") != "-"
    host.node_daemon.signal(1)
    volume.down().delete()
    assert (host.leaves(), host.mounts()) == ([], [])


def test_no_two_names_share_a_dataset(host):
    for name in NAMES:
        Volume(host, name).create()
    assert len(host.leaves()) == len(NAMES)
    assert host.ids() == sorted(NAMES)
    page, token = [], ""
    while True:
        answer = host.controller.ListVolumes(max_entries=5, starting_token=token)
        page += [entry.volume.volume_id for entry in answer.entries]
        token = answer.next_token
        if not token:
            break
    assert sorted(page) == sorted(NAMES)


UNKNOWN = {
    "DeleteVolume": (lambda host, name: host.controller.DeleteVolume(volume_id=name)),
    "ControllerUnpublishVolume": (
        lambda host, name: host.controller.ControllerUnpublishVolume(volume_id=name, node_id="n1")),
    "NodeUnstageVolume": (lambda host, name: host.node.NodeUnstageVolume(
        volume_id=name, staging_target_path=f"{host.folder}/none")),
    "NodeUnpublishVolume": (lambda host, name: host.node.NodeUnpublishVolume(
        volume_id=name, target_path=f"{host.folder}/none")),
}


@pytest.mark.parametrize("rpc", UNKNOWN)
def test_undoing_a_call_that_never_was_succeeds(host, rpc):
    for name in [*NAMES, "x" * 200, "a\x01"]:
        UNKNOWN[rpc](host, name)


def test_a_made_up_id_is_not_found(host):
    for name in [*NAMES, "x" * 200]:
        volume = Volume(host, name)
        for call in (volume.attach, volume.stage, lambda: volume.expand(MIB * 8)):
            with refused(CODE.NOT_FOUND, naming=name[:40]):
                call()


def test_unpublish_leaves_a_directory_that_is_no_mount_and_has_files(host, volume):
    volume.create()
    os.mkdir(volume.target)
    with open(f"{volume.target}/mine", "w", encoding="ascii") as file:
        file.write("kept")
    with refused(CODE.FAILED_PRECONDITION, CODE.INTERNAL, naming=volume.target):
        volume.unpublish()
    assert os.listdir(volume.target) == ["mine"]


def test_a_volume_is_not_unpublished_by_the_id_of_another(host, volume):
    volume.up()
    other = Volume(host, "other")
    other.create()
    for rpc in (lambda: host.node.NodeUnpublishVolume(volume_id="other", target_path=volume.target),
                lambda: host.node.NodeUnstageVolume(
                    volume_id="other", staging_target_path=volume.staging)):
        with contextlib.suppress(grpc.RpcError):
            rpc()
    assert os.path.ismount(volume.target) and os.path.ismount(volume.staging)


SECRET = "hunter2-do-not-log"


def test_secrets_are_not_logged(host, volume):
    secrets = {"secrets": {"password": SECRET}}
    volume.create(**secrets)
    volume.attach(**secrets)
    volume.stage()
    volume.publish(**secrets)
    volume.down()
    host.controller.DeleteVolume(volume_id="data", **secrets)
    for daemon in (host.controller_daemon, host.node_daemon):
        assert SECRET not in daemon.text()


def field(number, data):
    """Return the encoding of a length-delimited field of a message."""
    size, rest = [], len(data)
    while rest > 0x7f:
        size.append(rest & 0x7f | 0x80)
        rest >>= 7
    return bytes([number << 3 | 2, *size, rest]) + data


NO_TEXT = {"lone byte": b"\xff", "overlong": b"\xc0\x80", "surrogate": b"\xed\xa0\x80",
           "cut": b"a\xe2\x82", "beyond": b"\xf4\x90\x80\x80", "NUL": b"a\0b",
           "NUL at the end": b"a\0"}
GOOD = csi.CreateVolumeRequest(name="raw", volume_capabilities=[capability()]).SerializeToString()
PLACES = {
    "name": lambda text: field(1, text) + GOOD[5:],
    "parameter key": lambda text: GOOD + field(4, field(1, text) + field(2, b"x")),
    "parameter value": lambda text: GOOD + field(4, field(1, b"attach") + field(2, text)),
    "secret": lambda text: GOOD + field(5, field(1, b"k") + field(2, text)),
    "fs_type": lambda text: GOOD + field(3, field(2, field(1, text)) + field(3, b"\x08\x01")),
    "mount flag": lambda text: GOOD + field(3, field(2, field(2, text)) + field(3, b"\x08\x01")),
    "topology": lambda text: GOOD + field(7, field(1, field(1, field(1, b"k") + field(2, text)))),
}


@pytest.mark.parametrize("place", PLACES)
def test_invalid_text_is_refused(host, place):
    for name, text in NO_TEXT.items():
        with refused(CODE.INVALID_ARGUMENT):
            print(name)
            host.controller.CreateVolume.raw(PLACES[place](text))
    assert host.leaves() == [] and host.controller.Probe().ready.value


@pytest.mark.parametrize("text", NO_TEXT.values(), ids=NO_TEXT)
def test_invalid_text_in_ids_and_paths_is_refused(host, text):
    for rpc, number in ((host.controller.DeleteVolume, 1), (host.node.NodeStageVolume, 3),
                        (host.node.NodeUnpublishVolume, 2), (host.agent.GetDataset, 1)):
        with refused(CODE.INVALID_ARGUMENT):
            rpc.raw(field(number, text))


NO_MESSAGE = {"cut tag": b"\x80", "cut length": b"\x0a", "length beyond the end": b"\x0a\x7fab",
              "length of 2^63": b"\x0a" + b"\xff" * 9 + b"\x01",
              "varint of 11 bytes": b"\x08" + b"\xff" * 11,
              "group": b"\x0b\x0c", "wire type 7": b"\x0f", "name as a number": b"\x08\x01",
              "field 0": b"\x02\x01a"}


@pytest.mark.parametrize("message", NO_MESSAGE.values(), ids=NO_MESSAGE)
def test_bytes_that_are_no_message_are_refused(host, message):
    with refused(CODE.INTERNAL, CODE.INVALID_ARGUMENT):
        host.controller.CreateVolume.raw(message)
    with refused(CODE.INTERNAL, CODE.INVALID_ARGUMENT):
        host.node.NodeStageVolume.raw(message)
    assert host.controller.Probe().ready.value and host.node.Probe().ready.value


def test_random_bytes_stop_no_daemon(host):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    choice = random.Random(seed)
    rpcs = [(client, name) for client, service in (
        (host.controller, "Controller"), (host.node, "Node"), (host.agent, "Agent"))
        for name, method in METHODS.items() if method.containing_service.name == service]
    for _ in range(400):
        client, name = choice.choice(rpcs)
        try:
            getattr(client, name).raw(mutated(choice))
        except grpc.RpcError as error:
            assert error.code() not in (CODE.UNAVAILABLE, CODE.UNKNOWN), error.details()
    assert host.controller.Probe().ready.value and host.node.Probe().ready.value


def mutated(choice):
    """Return random bytes, or, in half of all calls, a valid request with one byte changed."""
    if choice.random() < 0.5:
        return choice.randbytes(choice.randrange(64))
    at = choice.randrange(len(GOOD))
    return GOOD[:at] + choice.randbytes(1) + GOOD[at + 1:]


def resident(daemon):
    """Return the peak resident memory of the daemon in KiB."""
    with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def test_a_small_message_cannot_take_much_memory(host):
    before = resident(host.controller_daemon)
    with refused(CODE.RESOURCE_EXHAUSTED):
        host.controller.CreateVolume.raw(field(3, b"") * (3 * MIB // 2))
    assert resident(host.controller_daemon) - before < 64 * 1024


def test_a_message_above_the_limit_is_refused_and_the_connection_lives(host):
    with refused(CODE.RESOURCE_EXHAUSTED):
        host.controller.CreateVolume.raw(field(1, b"x" * 5 * MIB))
    assert host.controller.Probe().ready.value
