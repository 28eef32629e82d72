# SPDX-License-Identifier: MPL-2.0
"""The name server of the cluster, for the one Service that has a name: that of zcsi-node."""
import contextlib
import socket
import threading


class NameServer(threading.Thread):
    """Answers at an address, UDP port 53. addresses: returns those of the Service now."""

    def __init__(self, address, name, addresses):
        super().__init__(daemon=True)
        self.names = {name, f"{name}.cluster.local"}
        self.addresses = addresses
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 53))

    def run(self):
        while True:
            try:
                question, asker = self.socket.recvfrom(4096)
            except OSError:
                return
            if not question:  # shutdown() was called
                return
            self.socket.sendto(self.answer(question), asker)

    def answer(self, question):
        """RFC 1035, 4.1: a header, the question, and a record for each address."""
        end, labels = 12, []
        while question[end]:
            labels.append(question[end + 1:end + 1 + question[end]].decode())
            end += 1 + question[end]
        known = ".".join(labels).lower() in self.names
        wanted = known and question[end + 1:end + 3] == b"\0\1"
        found = self.addresses() if wanted else []
        records = b"".join(b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4" + socket.inet_aton(each)
                           for each in found)
        flags = b"\x84\0" if known else b"\x84\3"
        header = question[:2] + flags + b"\0\1" + len(found).to_bytes(2, "big") + b"\0\0\0\0"
        return header + question[12:end + 5] + records

    def stop(self):
        with contextlib.suppress(OSError):  # an unconnected socket; recvfrom ends all the same
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
