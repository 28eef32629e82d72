# SPDX-License-Identifier: MPL-2.0
"""The services of every endpoint, health and reflection, called by grpcio."""
import os
import subprocess
import sys

import grpc
import pytest
from google.protobuf import descriptor_pb2

from frames import (DATA, END_STREAM, INITIAL_WINDOW_SIZE, PREFACE, SETTINGS, WINDOW_UPDATE, Peer,
                    fields_of, frame, headers, message, number, ROOT, setting, Tls)

GROWTH_KB = int(os.environ.get("GROWTH_KB", 3 << 10))
SERVED = ["csi.v1.Identity", "csi.v1.Controller", "csi.v1.GroupController",
          "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
          "grpc.reflection.v1alpha.ServerReflection"]
REFLECTIONS = ["grpc.reflection.v1", "grpc.reflection.v1alpha"]
SERVING, NOT_SERVING, SERVICE_UNKNOWN = 1, 2, 3
CODE = grpc.StatusCode


@pytest.fixture(scope="session")
def messages(tmp_path_factory):
    """Returns (health_pb2, reflection_pb2)."""
    folder = tmp_path_factory.mktemp("stubs")
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT}/proto",
                    f"--python_out={folder}", "health.proto", "reflection.proto"], check=True)
    sys.path.insert(0, str(folder))
    import health_pb2
    import reflection_pb2
    return health_pb2, reflection_pb2


def open_channel(place, certificates):
    if not isinstance(place, Tls):
        return grpc.insecure_channel(place.target)
    ca, chain, key = ((certificates / name).read_bytes()
                      for name in ("ca.pem", "localhost.pem", "localhost.key"))
    return grpc.secure_channel(f"localhost:{place.port}",
                               grpc.ssl_channel_credentials(ca, key, chain))


@pytest.fixture
def channel(controller, certificates):
    with open_channel(controller.place, certificates) as channel:
        yield channel


class Health:
    def __init__(self, channel, messages):
        self.pb = messages[0]
        path = "/grpc.health.v1.Health/"
        pack = type(self.pb.HealthCheckRequest()).SerializeToString
        self.checks = channel.unary_unary(path + "Check", pack,
                                          self.pb.HealthCheckResponse.FromString)
        self.lists = channel.unary_unary(path + "List", None, self.pb.HealthListResponse.FromString)
        self.watches = channel.unary_stream(path + "Watch", pack,
                                            self.pb.HealthCheckResponse.FromString)

    def check(self, service=""):
        return self.checks(self.pb.HealthCheckRequest(service=service), timeout=20).status

    def list(self):
        return {name: row.status for name, row in self.lists(b"", timeout=20).statuses.items()}

    def watch(self, service=""):
        return self.watches(self.pb.HealthCheckRequest(service=service), timeout=60)


@pytest.fixture
def health(channel, messages):
    return Health(channel, messages)


def test_each_service_is_serving(health):
    assert health.check() == SERVING
    assert [health.check(name) for name in SERVED] == [SERVING] * len(SERVED)
    assert health.list() == {name: SERVING for name in ["", *SERVED]}


def test_an_unknown_service_is_not_found(health):
    for name in ("csi.v1.Node", "csi.v1", "csi.v1.Identity.", "csi.v1.Identit", "x" * 200):
        with pytest.raises(grpc.RpcError) as error:
            health.check(name)
        assert error.value.code() == CODE.NOT_FOUND and name in error.value.details()


def test_watch_answers_at_once_and_stays_open(health):
    for name, status in (("", SERVING), ("csi.v1.Identity", SERVING), ("made-up", SERVICE_UNKNOWN)):
        watch = health.watch(name)
        assert next(watch).status == status
        assert health.check() == SERVING and watch.is_active()
        watch.cancel()


def test_watch_reports_the_end_and_does_not_delay_it(own_controller, certificates, messages):
    with open_channel(own_controller.place, certificates) as channel:
        health = Health(channel, messages)
        watches = [health.watch(name) for name in ("", "csi.v1.Controller", "made-up")]
        assert [next(watch).status for watch in watches] == [SERVING, SERVING, SERVICE_UNKNOWN]
        assert own_controller.stop() == 0
        assert [next(watch).status for watch in watches] == [NOT_SERVING, NOT_SERVING,
                                                             SERVICE_UNKNOWN]
        for watch in watches:
            with pytest.raises(grpc.RpcError) as error:
                next(watch)
            assert error.value.code() == CODE.UNAVAILABLE


# Reflection

@pytest.fixture(params=REFLECTIONS)
def ask(request, channel, messages):
    """Returns a function ask(question, ...) that returns the answers in order."""
    pb = messages[1]
    method = channel.stream_stream(f"/{request.param}.ServerReflection/ServerReflectionInfo",
                                   pb.ServerReflectionRequest.SerializeToString,
                                   pb.ServerReflectionResponse.FromString)
    return lambda *questions: list(
        method((pb.ServerReflectionRequest(**fields) for fields in questions), timeout=60))


def files(answer):
    """Returns {name: descriptor} of an answer."""
    assert answer.WhichOneof("message_response") == "file_descriptor_response", answer
    found = [descriptor_pb2.FileDescriptorProto.FromString(data)
             for data in answer.file_descriptor_response.file_descriptor_proto]
    return {file.name: file for file in found}


def test_the_services_are_listed(ask):
    answer, = ask({"list_services": "", "host": "here"})
    assert [row.name for row in answer.list_services_response.service] == SERVED
    assert answer.valid_host == "here" and answer.original_request.host == "here"


@pytest.mark.parametrize("question", [
    {"file_by_filename": "proto/csi.proto"},
    {"file_containing_symbol": "csi.v1.Controller"},
    {"file_containing_symbol": "csi.v1.Controller.CreateVolume"},
    {"file_containing_symbol": "csi.v1.VolumeCapability.AccessMode.Mode"}],
    ids=lambda question: next(iter(question.values())))
def test_a_file_comes_with_its_imports(ask, question):
    found = files(ask(question)[0])
    assert list(found) == ["proto/csi.proto", "google/protobuf/timestamp.proto",
                           "google/protobuf/wrappers.proto"]
    services = {service.name: len(service.method) for service in found["proto/csi.proto"].service}
    assert services["Identity"] == 3


def test_each_service_listed_can_be_described(ask):
    for name, answer in zip(SERVED, ask(*({"file_containing_symbol": name} for name in SERVED))):
        package, _, service = name.rpartition(".")
        first = next(iter(files(answer).values()))
        assert first.package == package and service in [row.name for row in first.service]


@pytest.mark.parametrize("question, code", [
    ({"file_by_filename": "csi.proto"}, 5),
    ({"file_containing_symbol": "csi.v1.Nothing"}, 5),
    ({"file_containing_symbol": ""}, 5),
    ({"file_containing_extension": {"containing_type": "csi.v1.Volume", "extension_number": 1}}, 5),
    ({"all_extension_numbers_of_type": "csi.v1.Volume"}, 5),
    ({}, 3)], ids=str)
def test_a_question_without_an_answer_leaves_the_stream_open(ask, question, code):
    answers = ask(question, {"list_services": ""})
    assert answers[0].error_response.error_code == code
    assert answers[0].error_response.error_message
    assert len(answers[1].list_services_response.service) == len(SERVED)


def test_answers_keep_the_order_of_questions(ask):
    names = ["proto/csi.proto", "proto/health.proto", "proto/agent.proto"] * 100
    answers = ask(*({"file_by_filename": name} for name in names))
    assert [next(iter(files(answer))) for answer in answers] == names


def test_unread_answers_are_not_kept_in_memory(controller):
    """Each answer is a thousand times as large as its question."""
    question = message(b"\x1a\x0fproto/csi.proto")
    count = 300
    start = PREFACE + frame(SETTINGS, payload=setting(INITIAL_WINDOW_SIZE, 0))
    path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
    with Peer(controller.place, start) as peer:
        peer.until(lambda: peer.settings)
        before = controller.rss()
        peer.send(headers(1, fields_of(path)))
        for _ in range(count):
            peer.send(frame(DATA, 0, 1, question))
        controller.probe()
        assert controller.rss() - before < GROWTH_KB
        peer.send(frame(DATA, END_STREAM, 1))
        peer.send(frame(WINDOW_UPDATE, 0, 1, number((1 << 31) - 1)) +
                  frame(WINDOW_UPDATE, 0, 0, number((1 << 31) - 1 - 65535)))
        answer = peer.answer()
        assert answer.code == 0
        at = seen = 0
        while at < len(answer.body):
            at += 5 + int.from_bytes(answer.body[at + 1:at + 5], "big")
            seen += 1
        assert seen == count
