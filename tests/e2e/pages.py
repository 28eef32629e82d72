# SPDX-License-Identifier: MPL-2.0
"""HTTP requests for the pages that a daemon serves at --metrics, over its unix socket."""
import http.client
import socket


class Connection(http.client.HTTPConnection):
    """An HTTP connection over a unix socket, whose path is the host."""

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.host)


def page(daemon, path):
    connection = Connection(str(daemon.metrics), timeout=20)
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text
