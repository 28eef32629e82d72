# SPDX-License-Identifier: MPL-2.0
"""An independent gRPC client, grpcio: every RPC of csi.v1, zcsi.v1 and pluginregistration is a
method of one object.

grpc_tools.protoc generates the messages into a temporary folder; `csi` and `agent` are the
generated modules.
"""
import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import grpc
import pytest

ROOT = Path(__file__).resolve().parents[2]
# Factor by which this host is slower than those for which the tests' deadlines were chosen.
PATIENCE = int(os.environ.get("PATIENCE", 1))
MIB = 1 << 20


def generate():
    folder = tempfile.TemporaryDirectory(prefix="zcsi-stubs-")
    subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT}", "-I/usr/include",
         f"--python_out={folder.name}", "proto/csi.proto", "proto/agent.proto",
         "proto/copy.proto", "proto/registration.proto"],
        check=True, cwd=ROOT)
    sys.path.insert(0, folder.name)
    return folder


STUBS = generate()
import proto.csi_pb2 as csi  # noqa: E402
import proto.agent_pb2 as agent  # noqa: E402
import proto.copy_pb2 as copy  # noqa: E402
import proto.registration_pb2 as registration  # noqa: E402

SERVICES = [service for module in (csi, agent, copy, registration)
            for service in module.DESCRIPTOR.services_by_name.values()]
METHODS = {method.name: method for service in SERVICES for method in service.methods}
OPTIONS = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0),
           ("grpc.max_receive_message_length", 64 * MIB)]


class Rpc:
    """An RPC: client.CreateVolume(name="a") returns the response, .future() returns at once, and
    .raw() takes an encoded request."""

    def __init__(self, channel, method):
        self.request = method.input_type._concrete_class
        response = method.output_type._concrete_class
        path = f"/{method.containing_service.full_name}/{method.name}"
        kind = channel.stream_unary if method.client_streaming else \
            channel.unary_stream if method.server_streaming else channel.unary_unary
        self.send = kind(path, lambda message: message.SerializeToString(), response.FromString)
        self.raw_send = kind(path, bytes, response.FromString)

    def __call__(self, timeout=60, **fields):
        return self.send(self.request(**fields), timeout=timeout * PATIENCE)

    def stream(self, requests, timeout=60):
        """Call an RPC that takes many requests, each a dictionary of fields."""
        return self.send((self.request(**fields) for fields in requests),
                         timeout=timeout * PATIENCE)

    def future(self, timeout=60, **fields):
        return self.send.future(self.request(**fields), timeout=timeout * PATIENCE)

    def raw(self, message, timeout=60):
        return self.raw_send(message, timeout=timeout * PATIENCE)


class Client:
    def __init__(self, target, credentials=None):
        self.target = target
        self.channel = grpc.secure_channel(target, credentials, OPTIONS) if credentials else \
            grpc.insecure_channel(target, OPTIONS)

    def __getattr__(self, name):
        if name not in METHODS:
            raise AttributeError(name)
        rpc = Rpc(self.channel, METHODS[name])
        setattr(self, name, rpc)
        return rpc

    def close(self):
        self.channel.close()


class Refusal:
    """The status code and the text of a failed call, set when the block of refused() has ended."""
    code = text = None


@contextlib.contextmanager
def refused(*codes, naming=()):
    """Check that the block fails with one of these codes and a text that contains all of
    `naming`."""
    refusal = Refusal()
    with pytest.raises(grpc.RpcError) as seen:
        yield refusal
    refusal.code, refusal.text = seen.value.code(), seen.value.details()
    names = [code.name for code in codes]
    assert refusal.code in codes, f"{refusal.code.name}, not {names}: {refusal.text}"
    assert refusal.text and refusal.text.strip(), "a refusal without a text"
    for word in [naming] if isinstance(naming, str) else naming:
        assert word in refusal.text


def capability(mode="SINGLE_NODE_WRITER", **mount):
    number = csi.VolumeCapability.AccessMode.Mode.Value(mode)
    return csi.VolumeCapability(mount=csi.VolumeCapability.MountVolume(**mount),
                                access_mode=csi.VolumeCapability.AccessMode(mode=number))


def size_of(required=0, limit=0):
    return csi.CapacityRange(required_bytes=required, limit_bytes=limit)


def topology(*nodes):
    return csi.TopologyRequirement(
        requisite=[csi.Topology(segments={"zcsi.zfs/node": node}) for node in nodes],
        preferred=[csi.Topology(segments={"zcsi.zfs/node": node}) for node in nodes])
