# SPDX-License-Identifier: MPL-2.0
"""A wire between a controller and an agent that a test can make slow, or deaf in either direction,
without either end being told: what a network that loses packets is to those who use it."""
import asyncio
import contextlib
import threading

CHUNK = 1 << 16


class Wire:
    """Listens at `path` and carries what comes to the agent's socket `to`, and back."""

    def __init__(self, path, to):
        self.path, self.to = str(path), str(to)
        self.delay = 0  # seconds, in each direction
        self.lost = set()  # of "there" and "back": nothing of it arrives
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(ready,))
        self.thread.start()
        ready.wait()

    def run(self, ready):
        asyncio.set_event_loop(self.loop)
        self.mended = asyncio.Event()
        self.server = self.loop.run_until_complete(
            asyncio.start_unix_server(self.connected, self.path))
        ready.set()
        self.loop.run_forever()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                self.loop.run_until_complete(task)
        self.loop.close()

    async def connected(self, reader, writer):
        try:
            to_agent = await asyncio.open_unix_connection(self.to)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self.carry("there", reader, to_agent[1]),
                             self.carry("back", to_agent[0], writer))

    async def carry(self, way, reader, writer):
        with contextlib.suppress(OSError):
            while block := await reader.read(CHUNK):
                await asyncio.sleep(self.delay)
                while way in self.lost:
                    self.mended.clear()
                    await self.mended.wait()
                writer.write(block)
                await writer.drain()
        writer.close()

    def lose(self, *ways):
        """From now on nothing arrives that goes that way; TCP would try it again after mend()."""
        self.lost = set(ways)

    def mend(self):
        self.lost = set()
        self.loop.call_soon_threadsafe(self.mended.set)

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
