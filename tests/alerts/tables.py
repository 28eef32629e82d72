# SPDX-License-Identifier: MPL-2.0
"""The metrics as the tables in the sources have them, and a page with those of which zfs-fuse gives
no series, since it can keep neither copies nor backups."""
import http.server
import re
import threading

from client import ROOT

FOLDERS = ("common", "transport", "controller", "node")
ROW = re.compile(r'METRIC\(\s*(COUNTER|GAUGE|HISTOGRAM),\s*"(\w+)",((?:\s*"[^"]*",?)+)\s*\)')
WITHOUT_SERIES = (
    "zcsi_copy_synced_timestamp_seconds", "zcsi_copy_lag_seconds", "zcsi_copy_lag_bytes",
    "zcsi_copy_lag_allowed_seconds", "zcsi_copy_failing", "zcsi_copy_paused", "zcsi_copy_owed",
    "zcsi_backup_newest_timestamp_seconds", "zcsi_backup_interval_seconds",
    "zcsi_backup_verified_timestamp_seconds", "zcsi_volumes_diverged")


def metrics():
    """Return {name: (kind, labels)} of all rows METRIC(KIND, NAME, HELP, LABEL...). The help is all
    strings up to the first comma."""
    found = {}
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.c"):
            for kind, name, rest in ROW.findall(path.read_text()):
                labels = re.findall(r'"([^"]*)"', rest.partition('",')[2])
                found[name] = kind, labels
    return found


def series():
    """Return the names of all series: those of a histogram have three."""
    return {f"{name}{end}": labels for name, (kind, labels) in metrics().items()
            for end in (("_bucket", "_sum", "_count") if kind == "HISTOGRAM" else ("",))}


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """Prometheus ends a scrape that takes too long."""


class Page:
    """An HTTP server with a series of each metric WITHOUT_SERIES, whose labels have their own names
    for values."""

    def __init__(self):
        known = metrics()
        text = "".join(
            f"{name}{{" + ",".join(f'{label}="{label}"' for label in known[name][1]) + "} 1\n"
            for name in WITHOUT_SERIES)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *args):
                pass
        self.server = Server(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
