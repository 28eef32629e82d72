# SPDX-License-Identifier: MPL-2.0
"""A relay between a controller and an agent. A test can make it slow, or lose the bytes of either
direction while both connections stay open, like a network that drops packets."""
import asyncio
import contextlib
import threading

CHUNK = 1 << 16


class Wire:
    """A relay that listens at `path` and connects each client to the agent's socket `to`."""

    def __init__(self, path, to):
        self.path, self.to = str(path), str(to)
        self.delay = 0  # seconds, in each direction
        self.lost = set()  # the directions, "there" and "back", in which nothing arrives
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
        """Hold back all bytes in these directions from now on; mend() delivers them, as TCP would
        by retransmission."""
        self.lost = set(ways)

    def mend(self):
        self.lost = set()
        self.loop.call_soon_threadsafe(self.mended.set)

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
