#!/usr/bin/python3
# SPDX-License-Identifier: MPL-2.0
"""A client and a server of echo.proto, implemented with grpcio, which is gRPC's C core:

    grpcio.py serve ENDPOINT           serve until killed
    grpcio.py call ENDPOINT CASE...    print "ok CASE", or "not ok CASE: " and the reason, for each

echo_pb2 and echo_pb2_grpc are found in $PYTHONPATH. Over tcp:// it uses mutual TLS, with the
certificates of the folder $CERTIFICATES."""
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc

import echo_pb2 as pb
import echo_pb2_grpc as services

CODE = grpc.StatusCode
CODES = {code.value[0]: code for code in CODE}
SPECIAL = "\t100 %25 of\r\n\u263a and \U0001f608 \n"
METADATA = (("x-text", "some text"), ("x-bytes-bin", b"\x00\xff\n"))


def certificates():
    """Return the CA, the certificate and the key as bytes."""
    folder = Path(os.environ["CERTIFICATES"])
    return [(folder / name).read_bytes() for name in ("ca.pem", "localhost.pem", "localhost.key")]


class Echo(services.EchoServicer):
    def Echo(self, request, context):
        """Send metadata before and after the answer."""
        context.send_initial_metadata(METADATA)
        context.set_trailing_metadata(METADATA)
        return response(request.text, request.count)

    def Make(self, request, context):
        return response("x" * request.count)

    def Fail(self, request, context):
        context.abort(CODES[request.count], request.text)

    def Hang(self, request, context):
        over = threading.Event()
        if context.add_callback(over.set):
            over.wait()

    def Collect(self, request_iterator, context):
        last = response()
        for request in request_iterator:
            last = response(request.text, last.count + 1)
        return last

    def Repeat(self, request, context):
        for count in range(request.count):
            yield response(request.text, count)

    def Chat(self, request_iterator, context):
        for request in request_iterator:
            yield response(request.text, request.count)


def serve(endpoint):
    server = grpc.server(ThreadPoolExecutor(8))
    services.add_EchoServicer_to_server(Echo(), server)
    if endpoint.startswith("tcp://"):
        ca, chain, key = certificates()
        server.add_secure_port(endpoint[6:], grpc.ssl_server_credentials([(key, chain)], ca, True))
    else:
        server.add_insecure_port(endpoint)
    server.start()
    server.wait_for_termination()


# ---- the client ----

def request(text="", count=0):
    return pb.EchoRequest(text=text, count=count)


def response(text="", count=0):
    return pb.EchoResponse(text=text, count=count)


def same(got, want):
    if got != want:
        raise AssertionError(f"{str(got)[:80]} came, not {str(want)[:80]}")


def refused(call, code, text=""):
    """Check that the call fails with this code and that its message contains the text."""
    try:
        call()
    except grpc.RpcError as error:
        same(error.code(), code)
        if text not in error.details():
            raise AssertionError(error.details()) from error
    else:
        raise AssertionError("it did not fail")


class Cases:
    """Cases by name: each public method is a case."""

    def __init__(self, channel):
        self._echo = services.EchoStub(channel)
        self._nobody = services.NobodyStub(channel)

    def empty_unary(self):
        same(self._echo.Echo(request(), timeout=10), response())

    def large_unary(self):
        same(self._echo.Make(request("x" * 271828, 314159), timeout=10), response("x" * 314159))

    def custom_metadata(self):
        same(self._echo.Echo(request("metadata", 1), metadata=METADATA, timeout=10),
             response("metadata", 1))

    def status_code_and_message(self):
        refused(lambda: self._echo.Fail(request("as told", 2), timeout=10), CODE.UNKNOWN, "as told")

    def special_status_message(self):
        refused(lambda: self._echo.Fail(request(SPECIAL, 2), timeout=10), CODE.UNKNOWN, SPECIAL)

    def unimplemented_method(self):
        refused(lambda: self._echo.Nothing(request(), timeout=10), CODE.UNIMPLEMENTED, "Nothing")

    def unimplemented_service(self):
        refused(lambda: self._nobody.Echo(request(), timeout=10), CODE.UNIMPLEMENTED, "Nobody")

    def client_compressed_unary(self):
        refused(lambda: self._echo.Echo(request("x" * 1000), timeout=10,
                                        compression=grpc.Compression.Gzip),
                CODE.UNIMPLEMENTED, "identity")

    def timeout_on_sleeping_server(self):
        refused(lambda: self._echo.Hang(request(), timeout=0.2), CODE.DEADLINE_EXCEEDED)

    def client_streaming(self):
        sizes = 27182, 8, 1828, 45904
        answer = self._echo.Collect((request("x" * size) for size in sizes), timeout=10)
        same(answer, response("x" * 45904, 4))

    def server_streaming(self):
        answers = list(self._echo.Repeat(request("x" * 31415, 4), timeout=10))
        same(answers, [response("x" * 31415, count) for count in range(4)])

    def ping_pong(self):
        answered = threading.Semaphore()
        sizes = 31415, 9, 2653, 58979

        def in_step():
            for size in sizes:
                answered.acquire(timeout=10)
                yield request("x" * size, size)

        seen = []
        for answer in self._echo.Chat(in_step(), timeout=10):
            seen.append(answer)
            answered.release()
        same(seen, [response("x" * size, size) for size in sizes])

    def empty_stream(self):
        same(list(self._echo.Chat(iter(()), timeout=10)), [])

    def cancel_after_begin(self):
        over = threading.Event()
        call = self._echo.Collect.future((over.wait(10) for _ in range(1)), timeout=10)
        call.cancel()
        over.set()
        same(call.code(), CODE.CANCELLED)

    def cancel_after_first_response(self):
        over = threading.Event()

        def one_and_wait():
            yield request("x" * 27182)
            over.wait(10)

        call = self._echo.Chat(one_and_wait(), timeout=10)
        same(next(call), response("x" * 27182))
        call.cancel()
        over.set()
        refused(lambda: next(call), CODE.CANCELLED)


def connect(endpoint):
    if not endpoint.startswith("tcp://"):
        return grpc.insecure_channel(endpoint)
    ca, chain, key = certificates()
    return grpc.secure_channel(endpoint[6:], grpc.ssl_channel_credentials(ca, key, chain))


def call(endpoint, names):
    failed = 0
    with connect(endpoint) as channel:
        cases = Cases(channel)
        for name in names:
            try:
                getattr(cases, name)()
                print(f"ok {name}")
            except Exception as error:  # whatever its type, so that the other cases still run
                print(f"not ok {name}:", str(error).replace("\n", " ")[:300])
                failed = 1
    return failed


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        sys.exit(call(sys.argv[2], sys.argv[3:]))
