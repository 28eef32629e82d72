# SPDX-License-Identifier: MPL-2.0
"""Whatever a hostile peer does, others are served meanwhile, and afterwards the controller has no
more memory, descriptors, threads, connections and calls than before."""
import contextlib
import os
import threading
import time
from pathlib import Path

from frames import wait_for

GROWTH_KB = int(os.environ.get("GROWTH_KB", 8 << 10))
WITHIN_S = 0.1  # nine Probes of ten; the tenth may have met a busy machine,
SLOWEST_S = 1.0  # and no more than that


class Bystander(threading.Thread):
    """Somebody else's Probes, one connection after the other."""

    def __init__(self, controller):
        super().__init__()
        self.controller = controller
        self.stop = threading.Event()
        self.times = []
        self.error = None

    def delayed(self):
        """For how long the machine had no processor for us or the controller; that is nobody's
        fault."""
        tasks = f"/proc/self/task/{threading.get_native_id()}", \
            f"/proc/{self.controller.process.pid}"
        return sum(int(Path(task, "schedstat").read_text().split()[1]) for task in tasks) / 1e9

    def run(self):
        try:
            while not self.stop.is_set() or len(self.times) < 10:
                began, delayed = time.monotonic(), self.delayed()
                self.controller.probe()
                self.times.append(time.monotonic() - began - self.delayed() + delayed)
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
    times = sorted(bystander.times)
    assert times[len(times) * 9 // 10 - 1] < WITHIN_S
    assert times[-1] < SLOWEST_S
    wait_for(controller.is_idle, "neither a connection nor a call")
    wait_for(lambda: controller.fds() <= fds, f"{fds} descriptors again")
    assert controller.threads() == threads
    assert controller.rss() - rss < GROWTH_KB
    controller.probe()
