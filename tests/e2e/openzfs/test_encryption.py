# SPDX-License-Identifier: MPL-2.0
"""Encrypted volumes: the key is a secret of the calls, is loaded while the volume is staged, and is
stored nowhere."""
import contextlib
import os
import subprocess
from pathlib import Path

import grpc
import pytest

from client import refused
from daemon import wait_for
from host import after_other_calls, fill, get, Host, run, SIZE, Volume
from staged import sibling
from zvols import read, write, zvol

CODE = grpc.StatusCode
KEY, WRONG, PHRASE = "0123456789abcdef" * 4, "f123456789abcdef" * 4, "correct horse battery"
ENCRYPTED = {"parameters": {"zfs.encryption": "aes-256-gcm"}}


def is_open(volume):
    return get(volume.host.dataset(volume.id), "keystatus") == "available"


def keyed(host, name, key=KEY):
    volume = Volume(host, name)
    volume.secrets = {"encryption_key": key, "other": "ignored"}
    return volume


def load_by_hand(dataset, key=KEY):
    run("zfs", "load-key", dataset, input=key)


@pytest.fixture
def secret(host):
    """An encrypted volume that was created and is not staged."""
    volume = keyed(host, "data")
    volume.create(**ENCRYPTED)
    return volume


@pytest.fixture
def copy(host, secret):
    """A clone of the encrypted volume, from its snapshot."""
    snapshot = host.controller.CreateSnapshot(source_volume_id=secret.id, name="s").snapshot
    clone = keyed(host, "copy")
    clone.create(volume_content_source={"snapshot": {"snapshot_id": snapshot.snapshot_id}},
                 **ENCRYPTED)
    return clone


def steps_up(volume):
    for step in (volume.attach, volume.stage, volume.publish):
        step()


def test_the_key_is_loaded_while_the_volume_is_staged(host, secret):
    dataset = host.dataset("data")
    assert get(dataset, "encryption") == "aes-256-gcm" and get(dataset, "keyformat") == "hex"
    assert not is_open(secret)
    steps_up(secret)
    assert is_open(secret)
    Path(secret.target, "note").write_text("kept")
    secret.unpublish()
    assert is_open(secret)
    secret.unstage()
    assert not is_open(secret)
    steps_up(secret)
    assert Path(secret.target, "note").read_text() == "kept"
    secret.down().delete()
    assert (host.leaves(), host.mounts()) == ([], [])


def test_the_key_is_in_no_log_and_no_argv(host, secret, tmp_path):
    trace = tmp_path / "argv"
    secret.create(**ENCRYPTED)
    steps_up(secret)
    secret.stage()
    secret.down()
    secret.secrets["encryption_key"] = WRONG
    with refused(CODE.UNAUTHENTICATED) as refusal:
        secret.stage()
    written = [host.node_daemon.text(), host.controller_daemon.text(), refusal.text,
               run("zfs", "get", "-r", "all", host.parent),
               run("zpool", "history", "-il", host.parent.split("/")[0])]
    trace.write_text("\n".join(host.node_daemon.runs()))
    assert "zfs load-key" in trace.read_text(), "the log tells what was run"
    assert not [text for text in written if KEY in text or WRONG in text]


def test_nothing_of_the_key_is_left_in_the_memory_of_the_daemons(host, secret):
    """Buffers that are reused may keep a key until the next call overwrites it, so calls with a
    second volume and another key follow before the memory is searched for the first key."""
    for volume in (secret, keyed(host, "dat2", WRONG)):
        volume.create(**ENCRYPTED)
        steps_up(volume)
        volume.down()
    for daemon in (host.node_daemon, host.controller_daemon):
        assert KEY.encode() not in heap(daemon.process.pid), daemon.name


def heap(pid):
    found = b""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, rights = line.split()[:2]
            start, end = (int(number, 16) for number in span.split("-"))
            if rights.startswith("rw"):
                memory.seek(start)
                with contextlib.suppress(OSError):
                    found += memory.read(end - start)
    return found


def test_only_the_right_key_is_loaded(host, secret):
    secret.attach()
    before = host.state()
    for secrets in ({"encryption_key": WRONG}, {"encryption_key": "short"}, {"other": KEY}, {}):
        secret.secrets = secrets
        os.makedirs(secret.staging, exist_ok=True)
        with refused(CODE.UNAUTHENTICATED, naming=("'data'", "encryption_key")):
            secret.stage()
        os.rmdir(secret.staging)
        assert host.state() == before and not is_open(secret)
    secret.secrets = {"encryption_key": KEY}
    steps_up(secret)
    assert fill(f"{secret.target}/file") > SIZE / 2


def test_a_missing_or_invalid_key_creates_nothing(host):
    for key, code in {"": CODE.UNAUTHENTICATED, "seven..": CODE.INVALID_ARGUMENT,
                      "x" * 513: CODE.INVALID_ARGUMENT,
                      "two\nlines": CODE.INVALID_ARGUMENT}.items():
        with refused(code, naming=("'data'", "encryption_key")):
            keyed(host, "data", key).create(**ENCRYPTED)
    assert host.leaves() == []


def test_a_passphrase_is_a_key_too(host):
    volume = keyed(host, "data", PHRASE)
    volume.create(parameters={"zfs.encryption": "on"})
    assert get(host.dataset("data"), "keyformat") == "passphrase"
    steps_up(volume)
    assert is_open(volume)


def test_encryption_parameters_are_compared(host, secret):
    with refused(CODE.ALREADY_EXISTS, naming="zfs.encryption"):
        secret.create(parameters={"zfs.encryption": "aes-128-gcm"})
    with refused(CODE.ALREADY_EXISTS, naming="zfs.encryption"):
        secret.create()
    with refused(CODE.INVALID_ARGUMENT, naming="zfs.encryption"):
        host.controller.ControllerModifyVolume(
            volume_id="data", mutable_parameters={"zfs.encryption": "aes-128-gcm"})


def test_a_clone_has_the_key_of_its_source_and_the_last_of_them_unloads_it(host, secret, copy):
    assert not is_open(copy) and not is_open(secret)
    steps_up(copy)
    secret.stage()
    copy.down()
    assert is_open(secret) and is_open(copy)
    Path(secret.staging, "note").write_text("the mount works on")
    secret.unstage()
    assert not is_open(secret) and not is_open(copy)


def test_a_clone_works_after_its_encrypted_source_is_deleted(host, secret, copy):
    secret.delete()
    steps_up(copy)
    assert is_open(copy)
    copy.down()
    assert not is_open(copy)
    copy.delete()


def test_a_clone_of_a_plain_volume_cannot_be_encrypted(host):
    Volume(host, "plain").create()
    with refused(CODE.INVALID_ARGUMENT, naming=("'copy'", "'plain'")):
        keyed(host, "copy").create(volume_content_source={"volume": {"volume_id": "plain"}},
                                   **ENCRYPTED)
    assert host.leaves() == ["plain"]


def test_a_clone_of_an_encrypted_volume_is_encrypted(host, secret):
    clone = keyed(host, "copy")
    clone.create(volume_content_source={"volume": {"volume_id": "data"}})
    steps_up(clone)
    assert is_open(clone)
    clone.down()
    assert not is_open(secret)


def test_a_key_loaded_by_hand_is_used_and_unloaded_with_the_last_staging(host, secret):
    load_by_hand(host.dataset("data"))
    secret.secrets = {}
    steps_up(secret)
    secret.down()
    assert not is_open(secret)


def test_unstage_unloads_what_a_killed_daemon_left_loaded(host, secret):
    load_by_hand(host.dataset("data"))
    os.makedirs(secret.staging)
    secret.unstage()
    assert not is_open(secret)


def test_the_last_of_two_stagings_unloads_the_key(secret):
    steps_up(secret)
    other = sibling(secret)
    other.stage()
    secret.unpublish()
    secret.unstage()
    assert is_open(secret)
    other.unstage()
    assert not is_open(secret)


def test_a_mount_in_another_namespace_keeps_the_key_and_unstage_succeeds(secret):
    secret.attach()
    secret.stage()
    with subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c",
                           "echo; read end"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as elsewhere:
        elsewhere.stdout.readline()
        secret.unstage()
        assert is_open(secret)
        elsewhere.communicate(b"\n")
    secret.unstage()
    assert not is_open(secret)


@pytest.mark.parametrize("wanted", ["block", "ext4"])
def test_the_key_of_a_zvol_is_loaded_while_it_is_staged(host, wanted):
    volume = zvol(host, "data", wanted)
    volume.secrets = {"encryption_key": KEY}
    volume.create(**ENCRYPTED)
    dataset = host.dataset("data")
    assert get(dataset, "type") == "volume" and get(dataset, "encryption") == "aes-256-gcm"
    assert not is_open(volume)
    steps_up(volume)
    assert is_open(volume)
    path = volume.target if wanted == "block" else f"{volume.target}/note"
    Path(path).touch()
    write(path, b"kept")
    volume.unpublish()
    volume.create(**ENCRYPTED)
    assert is_open(volume)
    volume.unstage()
    assert not is_open(volume)
    volume.secrets = {"encryption_key": WRONG}
    with refused(CODE.UNAUTHENTICATED, naming=("'data'", "encryption_key")):
        volume.stage()
    assert not is_open(volume) and host.mounts() == []
    volume.secrets = {"encryption_key": KEY}
    steps_up(volume)
    assert read(path, 4) == b"kept"
    volume.down().delete()
    assert (host.leaves(), host.mounts()) == ([], [])


@pytest.fixture
def devices(host):
    """An encrypted block volume and its clone, both published and not open."""
    made = [zvol(host, name, "block") for name in ("data", "copy")]
    source = {"volume_content_source": {"volume": {"volume_id": "data"}}}
    for volume, fields in zip(made, ({}, source)):
        volume.secrets = {"encryption_key": KEY}
        volume.create(**ENCRYPTED, **fields)
        steps_up(volume)
    return made


@pytest.mark.parametrize("first", [0, 1], ids=["source", "clone"])
def test_a_device_that_is_not_open_keeps_the_key_of_its_family(devices, first):
    leaving, staying = devices[first], devices[1 - first]
    write(staying.target, b"kept")
    leaving.unpublish()
    leaving.unstage()
    leaving.create(**ENCRYPTED, **({"volume_content_source": {"volume": {"volume_id": "data"}}}
                                   if first else {}))
    assert is_open(staying)
    assert read(staying.target, 4) == b"kept"
    staying.stage()
    staying.unpublish()
    staying.unstage()
    assert not is_open(staying) and not is_open(leaving)


def test_a_staged_device_gets_its_key_again(host, devices):
    volume = devices[0]
    write(volume.target, b"kept")
    run("zfs", "unload-key", host.dataset("data"))
    volume.secrets = {"encryption_key": WRONG}
    with refused(CODE.UNAUTHENTICATED, naming=("'data'", "encryption_key")):
        volume.stage()
    volume.secrets = {"encryption_key": KEY}
    volume.stage()
    assert read(volume.target, 4) == b"kept"


def other_key(volume, key=WRONG):
    """Return the same volume at the same paths with another key."""
    other = keyed(volume.host, volume.id, key)
    other.capability, other.context = volume.capability, volume.context
    other.staging, other.target = volume.staging, volume.target
    return other


def check_refused(volume):
    """Check that staging is refused because of the key, and that nothing changes."""
    os.makedirs(volume.staging, exist_ok=True)
    before = volume.host.state()
    with refused(CODE.UNAUTHENTICATED, naming=(f"'{volume.id}'", "encryption_key")):
        volume.stage()
    assert volume.host.state() == before and is_open(volume)


@pytest.mark.parametrize("wanted", ["zfs", "ext4", "block"])
def test_a_wrong_key_is_refused_while_the_key_is_loaded(host, wanted):
    volume = keyed(host, "data") if wanted == "zfs" else zvol(host, "data", wanted)
    volume.secrets = {"encryption_key": KEY}
    volume.create(**ENCRYPTED)
    steps_up(volume)
    path = volume.target if wanted == "block" else f"{volume.target}/note"
    Path(path).touch()
    write(path, b"kept")
    wrong = other_key(volume)
    check_refused(wrong)
    wrong.staging += "-b"
    check_refused(wrong)
    assert read(path, 4) == b"kept"
    volume.stage()
    wrong.secrets = {"encryption_key": KEY}
    wrong.stage()
    wrong.unstage()
    volume.down()
    assert not is_open(volume)


def test_a_wrong_passphrase_is_refused_while_the_key_is_loaded(host):
    volume = keyed(host, "data", PHRASE)
    volume.create(**ENCRYPTED)
    volume.stage()
    for key in (PHRASE + "!", "short", KEY):
        check_refused(other_key(volume, key))
    volume.stage()


def test_a_wrong_key_of_a_clone_is_refused_while_its_source_is_staged(secret, copy):
    secret.stage()
    check_refused(other_key(copy))
    copy.stage()


def test_a_wrong_key_is_refused_while_another_was_loaded_by_hand(host, secret):
    load_by_hand(host.dataset("data"))
    check_refused(other_key(secret))
    secret.stage()
    secret.unstage()
    assert not is_open(secret)


def test_the_key_of_a_renamed_volume_is_unloaded_with_its_last_staging(host, secret):
    secret.stage()
    other = sibling(secret)
    other.secrets = secret.secrets
    other.stage()
    away = host.dataset("away")
    run("zfs", "rename", "-u", host.dataset("data"), away)
    other.unstage()
    assert get(away, "keystatus") == "available"
    secret.unstage()
    assert get(away, "keystatus") == "unavailable" and host.mounts() == []


def rename_zvol(host, old, new):
    """Rename a zvol by hand, and wait until udev, which opens its device, is done with it."""
    run("zfs", "rename", host.dataset(old), host.dataset(new))
    run("udevadm", "settle")


@pytest.mark.parametrize("again", [False, True], ids=["", "a new one has its name"])
@pytest.mark.parametrize("wanted", ["block", "ext4"])
def test_the_key_of_a_renamed_zvol_is_unloaded_with_its_last_staging(host, wanted, again):
    """The mounts of a zvol keep its former name as their source."""
    volume = zvol(host, "data", wanted)
    volume.secrets = {"encryption_key": KEY}
    volume.create(**ENCRYPTED)
    other = sibling(volume)
    other.capability, other.secrets = volume.capability, volume.secrets
    for each in (volume, other):
        each.stage()
    rename_zvol(host, "data", "away")
    if again:
        wait_for(lambda: host.ids() == [], "the rename is seen")
        volume.create(**ENCRYPTED)
    other.unstage()
    assert get(host.dataset("away"), "keystatus") == "available"
    volume.unstage()
    assert get(host.dataset("away"), "keystatus") == "unavailable" and host.mounts() == []


@pytest.mark.parametrize("first", [0, 1], ids=["source", "clone"])
def test_a_renamed_device_that_is_not_open_keeps_the_key_of_its_family(host, devices, first):
    leaving, staying = devices[first], devices[1 - first]
    write(staying.target, b"kept")
    rename_zvol(host, staying.id, "away")
    leaving.unpublish()
    leaving.unstage()
    assert is_open(leaving)
    assert read(staying.target, 4) == b"kept"
    staying.unpublish()
    staying.unstage()
    assert not is_open(leaving) and host.mounts() == []


def test_an_encrypted_volume_grows_while_it_is_published(host, secret):
    steps_up(secret)
    secret.expand(2 * SIZE)
    usage, _ = host.node.NodeGetVolumeStats(volume_id="data", volume_path=secret.target).usage
    assert usage.total == 2 * SIZE


@pytest.fixture
def vault(pool):
    """A host whose volumes are below a dataset that an operator has encrypted."""
    dataset = f"{pool}/vault"
    run("zfs", "create", "-o", "mountpoint=none", "-o", "encryption=on", "-o", "keyformat=hex",
        "-o", "keylocation=prompt", dataset, input=KEY)
    with contextlib.closing(Host(dataset)) as host:
        yield host.start()
    run("zfs", "destroy", dataset)


def test_the_key_of_the_parent_is_never_unloaded(vault):
    volume = Volume(vault, "data").up()
    assert get(vault.dataset("data"), "encryptionroot") == vault.parent.rsplit("/", 1)[0]
    volume.down()
    assert is_open(volume)
    root = vault.parent.rsplit("/", 1)[0]
    run("zfs", "unload-key", root)
    with refused(CODE.FAILED_PRECONDITION, naming=f"zfs load-key {root}"):
        volume.stage()
    load_by_hand(root)
    volume.stage()


def test_the_owner_of_a_key_is_not_renamed_while_its_clone_is_staged(new_host, gate):
    """Calls for an encrypted volume and its clones, which share its key, wait for each other under
    the name of the volume that owns the key."""
    host = new_host(env=gate.env).start()
    secret, copy = keyed(host, "data"), keyed(host, "copy")
    secret.create(**ENCRYPTED)
    copy.create(volume_content_source={"volume": {"volume_id": "data"}}, **ENCRYPTED)
    copy.attach()
    os.mkdir(copy.staging, mode=0o700)
    gate.hold(" load-key ")
    staging = host.node.NodeStageVolume.future(
        volume_id="copy", staging_target_path=copy.staging, volume_capability=copy.capability,
        secrets=copy.secrets)
    gate.arrived()
    with refused(CODE.ABORTED, CODE.DEADLINE_EXCEEDED):
        host.agent.DestroyDataset(id="data", timeout=2)
    after_other_calls(host, "data")
    assert host.leaves() == ["copy", "data"]
    gate.open()
    staging.result()
    secret.delete()
    assert is_open(copy) and "data" not in host.leaves()
    copy.unstage()
    assert not is_open(copy)
    copy.detach()
