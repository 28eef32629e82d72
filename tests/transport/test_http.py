# SPDX-License-Identifier: MPL-2.0
"""The HTTP server of the monitoring pages: valid requests get a page, and invalid or slow ones do
no harm."""
import contextlib
import socket
import stat
import subprocess
import time
import urllib.request

import pytest

from frames import BUILD, PREFACE, Controller, reach, wait_for
from harmless import harmless

PAGES = {"/metrics": "text/plain; version=0.0.4; charset=utf-8",
         "/health/live": "text/plain; charset=utf-8",
         "/health/ready": "text/plain; charset=utf-8"}
CONNECTIONS_MAX = 16
LONGEST_S = 10
MOST = 32 << 20  # more than the kernel's buffers


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def monitored_controller(folder):
    return Controller(folder, metrics=f"tcp://127.0.0.1:{free_port()}")


@pytest.fixture(scope="module")
def monitored(tmp_path_factory):
    made = monitored_controller(tmp_path_factory.mktemp("http"))
    yield made
    assert made.stop() == 0


def read(connection):
    """Read until the connection ends. Returns status, headers and body, or None if there is no
    answer."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(1 << 16):
            parts.append(part)
    if not parts:
        return None
    head, _, body = b"".join(parts).partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    assert status.startswith("HTTP/1.1 ") and headers["Connection"] == "close"
    return int(status.split()[1]), headers, body


def fetch(controller, request):
    with reach(controller.metrics) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(request)
        return read(connection)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_every_page_is_there(monitored, page, version):
    request = f"{page} HTTP/{version}\r\nHost: x\r\n\r\n".encode()
    status, headers, body = fetch(monitored, b"GET " + request)
    assert (status, headers["Content-Type"]) == (200, PAGES[page])
    assert body.endswith(b"\n") and len(body) == int(headers["Content-Length"])
    status, of_head, nothing = fetch(monitored, b"HEAD " + request)
    assert (status, nothing) == (200, b"") and of_head.keys() == headers.keys()


def test_a_client_may_shut_down_writing(monitored):
    with reach(monitored.metrics) as connection:
        connection.sendall(b"GET /health/live HTTP/1.1\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        assert read(connection)[::2] == (200, b"live\n")


def test_a_request_may_come_in_pieces(monitored):
    with reach(monitored.metrics) as connection:
        for byte in b"GET /health/live HTTP/1.1\r\nA: b\r\n\r\n":
            connection.send(bytes([byte]))
        assert read(connection)[0] == 200


LINE = b"GET /metrics HTTP/1.1\r\n"
REQUESTS = {
    "another method": (b"POST /metrics HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi", 405),
    "an unknown method": (b"BREW /metrics HTTP/1.1\r\n\r\n", 405),
    "a method in small letters": (b"get /metrics HTTP/1.1\r\n\r\n", 405),
    "another page": (b"GET / HTTP/1.1\r\n\r\n", 404),
    "a page below": (b"GET /metrics/x HTTP/1.1\r\n\r\n", 404),
    "an escaped path": (b"GET /%6detrics HTTP/1.1\r\n\r\n", 404),
    "a path that climbs": (b"GET /health/../metrics HTTP/1.1\r\n\r\n", 404),
    "a page with a query": (b"GET /metrics?name=x HTTP/1.1\r\n\r\n", 200),
    "a body": (LINE + b"Content-Length: 3\r\n\r\nabc", 200),
    "two requests": (2 * (LINE + b"\r\n"), 200),
    "HTTP/2": (PREFACE + bytes(9) + b"\r\n\r\n", 400),
    "HTTP/3": (b"GET /metrics HTTP/3\r\n\r\n", 400),
    "no version": (b"GET /metrics\r\n\r\n", 400),
    "nothing": (b"\r\n\r\n", 400),
    "one word": (b"GET\r\n\r\n", 400),
    "two spaces": (b"GET  /metrics HTTP/1.1\r\n\r\n", 400),
    "a NUL": (b"GET /metrics\0 HTTP/1.1\r\n\r\n", 400),
    "bytes": (bytes(range(256)) + b"\r\n\r\n", 400),
    "a long path": (b"GET /" + 9000 * b"a" + b" HTTP/1.1\r\n\r\n", 431),
    "a long header": (LINE + b"A: " + 100000 * b"a" + b"\r\n\r\n", 431),
    "10,000 header lines": (LINE + 10000 * b"a: b\r\n" + b"\r\n", 431),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_other_requests_are_refused(monitored, name):
    request, expected = REQUESTS[name]
    status, headers, body = fetch(monitored, request)
    assert status == expected and body.endswith(b"\n")
    assert len(body) == int(headers["Content-Length"])
    assert (headers.get("Allow") == "GET, HEAD") == (status == 405)


def test_a_header_without_an_end_is_refused(monitored):
    with harmless(monitored), reach(monitored.metrics) as connection:
        sent = connection.send(LINE)
        with contextlib.suppress(ConnectionError):
            while sent < MOST:
                sent += connection.send(1000 * b"a: b\r\n")
        assert sent < MOST, "the server takes it all"


def is_closed(connection, more):
    """Send some more bytes. Returns True if the server has closed the connection."""
    connection.settimeout(0.01)
    try:
        connection.send(more)
        return not connection.recv(1)
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_a_slow_request_ends(monitored):
    """The timeout is for the whole request, even if bytes keep arriving."""
    with harmless(monitored), reach(monitored.metrics) as connection:
        connection.sendall(LINE)
        wait_for(lambda: is_closed(connection, b"a"), "the server closes", 6 * LONGEST_S)


def test_many_clients_hold_few_descriptors(monitored):
    with harmless(monitored), contextlib.ExitStack() as stack:
        before = monitored.fds()
        clients = [stack.enter_context(reach(monitored.metrics)) for _ in range(200)]
        for connection in clients[-CONNECTIONS_MAX:]:
            connection.sendall(LINE)
        assert fetch(monitored, LINE + b"\r\n")[0] == 200
        assert monitored.fds() - before <= CONNECTIONS_MAX + 2  # and those of the bystander
        assert read(clients[0]) is None  # the oldest connection was closed


def test_clients_that_do_not_read_delay_no_other(monitored):
    with harmless(monitored), contextlib.ExitStack() as stack:
        for _ in range(3 * CONNECTIONS_MAX):
            stack.enter_context(reach(monitored.metrics)).sendall(LINE + b"\r\n")
        assert fetch(monitored, LINE + b"\r\n")[0] == 200


def test_an_http_client_reads_every_page(monitored):
    for page, kind in PAGES.items():
        url = monitored.metrics.replace("tcp", "http") + page
        with urllib.request.urlopen(url, timeout=20) as answer:
            assert answer.status == 200 and answer.headers["Content-Type"] == kind


def test_the_monitor_may_have_a_unix_socket(tmp_path):
    path = tmp_path / "http.sock"
    controller = Controller(tmp_path, metrics=f"unix://{path}")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with reach(controller.metrics) as connection:
        connection.sendall(LINE + b"\r\n")
        assert read(connection)[0] == 200
    assert controller.stop() == 0
    assert not path.exists()


def test_beyond_loopback_the_monitor_needs_insecure(tmp_path):
    endpoint = f"tcp://0.0.0.0:{free_port()}"
    done = subprocess.run([BUILD / "zcsi-controller", "--endpoint", f"unix://{tmp_path}/c.sock",
                           "--metrics", endpoint], capture_output=True, text=True, timeout=20)
    assert done.returncode == 1
    assert endpoint in done.stderr and "--insecure" in done.stderr
    controller = Controller(tmp_path, "--insecure", metrics=endpoint)
    assert controller.stop() == 0


def test_an_open_connection_does_not_delay_the_end(tmp_path):
    controller = monitored_controller(tmp_path)
    with reach(controller.metrics) as connection:
        connection.sendall(LINE)
        wait_for(lambda: fetch(controller, LINE + b"\r\n")[0] == 200,
                 "the server has accepted the client")
        assert controller.stop() == 0
        assert read(connection) is None
