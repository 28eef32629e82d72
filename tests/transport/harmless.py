# SPDX-License-Identifier: MPL-2.0
"""Check that a hostile peer does no harm: other clients are served meanwhile, and afterwards the
controller has no more memory, descriptors, threads, connections and calls than before."""
import contextlib
import os
import statistics
import threading
import time

from frames import wait_for

GROWTH_KB = int(os.environ.get("GROWTH_KB", 8 << 10))
WITHIN_S = 0.1  # the controller's CPU time, since the host may be busy


class Bystander(threading.Thread):
    """Another client that sends Probes, each on a new connection."""

    def __init__(self, controller):
        super().__init__()
        self.controller = controller
        self.stop = threading.Event()
        self.times = []
        self.clock = (~controller.process.pid << 3) | 2  # as clock_getcpuclockid(3) derives it
        self.error = None

    def run(self):
        try:
            while not self.stop.is_set() or len(self.times) < 10:
                began = time.clock_gettime(self.clock)
                self.controller.probe()
                self.times.append(time.clock_gettime(self.clock) - began)
                self.stop.wait(0.01)
        except (AssertionError, IndexError, OSError) as error:
            self.error = error


@contextlib.contextmanager
def harmless(controller):
    """A context around an attack."""
    controller.probe()
    fds, threads, rss = controller.fds(), controller.threads(), controller.rss()
    bystander = Bystander(controller)
    bystander.start()
    try:
        yield
    finally:
        bystander.stop.set()
        bystander.join()
    assert bystander.error is None
    assert statistics.median(bystander.times) < WITHIN_S
    wait_for(controller.is_idle, "neither a connection nor a call")
    wait_for(lambda: controller.fds() <= fds, f"{fds} descriptors again")
    assert controller.threads() == threads
    assert controller.rss() - rss < GROWTH_KB
    controller.probe()
