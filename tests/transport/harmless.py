# SPDX-License-Identifier: MPL-2.0
"""Whatever a hostile peer does, others are served meanwhile, and afterwards the controller has no
more memory, descriptors, threads, connections and calls than before."""
import contextlib
import os
import statistics
import threading
import time

from frames import wait_for

GROWTH_KB = int(os.environ.get("GROWTH_KB", 8 << 10))
WITHIN_S = 0.1  # of the controller's processor time: the machine may be busy with others


class Bystander(threading.Thread):
    """Somebody else's Probes, one connection after the other."""

    def __init__(self, controller):
        super().__init__()
        self.controller = controller
        self.stop = threading.Event()
        self.times = []
        self.clock = (~controller.process.pid << 3) | 2  # as clock_getcpuclockid(3) has it
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
    """Around an attack."""
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
