# SPDX-License-Identifier: GPL-2.0-only
"""Disks with a volatile write cache, served over NBD, and the power that they share.

Reads see every write; only FLUSH and FUA make one stable. When the power goes, no
request is answered any more, and what is not stable is dropped, kept or torn, each
sector for itself.
"""

import mmap
import socket
import struct
import threading

SECTOR = 512

# What may happen to the unstable sectors of a disk.
FATES = ("drop", "keep", "any")

INIT_MAGIC, OPTION_MAGIC, OPTION_REPLY_MAGIC = b"NBDMAGIC", b"IHAVEOPT", 0x3e889045565a9
REQUEST_MAGIC, REPLY_MAGIC = 0x25609513, 0x67446698
FIXED_NEWSTYLE, NO_ZEROES = 1, 2
OPT_ABORT, OPT_GO = 2, 7
REP_ACK, REP_INFO, REP_UNSUPPORTED = 1, 3, 0x80000001
INFO_EXPORT, INFO_BLOCK_SIZE = 0, 3
HAS_FLAGS, SEND_FLUSH, SEND_FUA = 1, 4, 8
READ, WRITE, DISCONNECT, FLUSH = range(4)
FUA = 1
EINVAL = 22
MAX_REQUEST = 32 << 20


class Power:
    """Goes off after a number of writes and flushes, once it is armed."""

    def __init__(self):
        self.lock = threading.Lock()
        self.off = threading.Event()
        self._left = None

    def arm(self, requests):
        """Let this many more come through."""
        with self.lock:
            self._left = requests

    def take(self):
        """One write or flush has come, the lock is held; False if it is too late for it."""
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                self.off.set()
        return not self.off.is_set()

    def on(self):
        """For the next boot."""
        with self.lock:
            self._left = None
            self.off.clear()


class Disk:
    """What is stable, what reads see, and the versions of each sector in between."""

    def __init__(self, size):
        self.size = size
        self.lies = False
        self.writes = self.flushes = 0
        self._stable = mmap.mmap(-1, size)
        self._seen = mmap.mmap(-1, size)
        self._loose = {}

    def read(self, offset, length):
        """What was written last."""
        return self._seen[offset:offset + length]

    def write(self, offset, data, fua):
        """Into the cache, or through it."""
        self.writes += 1
        self._seen[offset:offset + len(data)] = data
        if fua and not self.lies:
            self._stable[offset:offset + len(data)] = data
            for sector in range(offset // SECTOR, (offset + len(data)) // SECTOR):
                self._loose.pop(sector, None)
            return
        for at in range(0, len(data), SECTOR):
            self._loose.setdefault((offset + at) // SECTOR, []).append(data[at:at + SECTOR])

    def flush(self):
        """All of it becomes stable, unless this disk lies."""
        self.flushes += 1
        if self.lies:
            return
        for sector, versions in self._loose.items():
            self._stable[sector * SECTOR:(sector + 1) * SECTOR] = versions[-1]
        self._loose.clear()

    def cut(self, rng, fate):
        """The power was off: (unstable sectors, those of them that are old now)."""
        old = 0
        unstable = len(self._loose)
        for sector, versions in sorted(self._loose.items()):
            place = slice(sector * SECTOR, (sector + 1) * SECTOR)
            history = [self._stable[place], *versions]
            survivor = {"drop": history[0], "keep": history[-1]}.get(fate) or rng.choice(history)
            old += survivor != history[-1]
            self._stable[place] = self._seen[place] = survivor
        self._loose.clear()
        return unstable, old


class Server:
    """Serves one disk at a UNIX socket, to one client after the other."""

    def __init__(self, disk, power, path):
        self.disk, self.power, self.path = disk, power, path
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            client, _ = self._listener.accept()
            with client:
                try:
                    if self._negotiate(client):
                        self._serve(client)
                except (EOFError, ConnectionError):
                    pass  # killed, which is what this is about

    def _negotiate(self, client):
        """The newstyle handshake; True if the client wants the disk."""
        client.sendall(INIT_MAGIC + OPTION_MAGIC + struct.pack(">H", FIXED_NEWSTYLE | NO_ZEROES))
        receive(client, 4)
        while True:
            _, option, length = struct.unpack(">8sII", receive(client, 16))
            receive(client, length)
            if option == OPT_GO:
                flags = HAS_FLAGS | SEND_FLUSH | SEND_FUA
                self._reply(client, option, REP_INFO,
                            struct.pack(">HQH", INFO_EXPORT, self.disk.size, flags))
                self._reply(client, option, REP_INFO,
                            struct.pack(">HIII", INFO_BLOCK_SIZE, SECTOR, 4096, MAX_REQUEST))
                self._reply(client, option, REP_ACK)
                return True
            if option == OPT_ABORT:
                self._reply(client, option, REP_ACK)
                return False
            self._reply(client, option, REP_UNSUPPORTED)

    @staticmethod
    def _reply(client, option, kind, data=b""):
        client.sendall(struct.pack(">QIII", OPTION_REPLY_MAGIC, option, kind, len(data)) + data)

    def _serve(self, client):
        while True:
            _, flags, kind, handle, offset, length = struct.unpack(">IHHQQI", receive(client, 28))
            if kind == DISCONNECT:
                return
            data = receive(client, length) if kind == WRITE else b""
            with self.power.lock:
                done = self._do(kind, offset, length, data, flags & FUA)
            if done is None:
                continue  # the power is off: no answer, ever
            error, answer = done
            client.sendall(struct.pack(">IIQ", REPLY_MAGIC, error, handle) + answer)

    def _do(self, kind, offset, length, data, fua):
        """Carry a request out: (error, data), or None if the power went off before its end."""
        if offset % SECTOR or length % SECTOR or offset + length > self.disk.size:
            return EINVAL, b""
        if kind == READ:
            return None if self.power.off.is_set() else (0, self.disk.read(offset, length))
        if kind not in (WRITE, FLUSH):
            return EINVAL, b""
        if self.power.off.is_set():
            return None
        alive = self.power.take()
        if kind == WRITE:
            self.disk.write(offset, data, fua and alive)  # what is cut off may be torn
        elif alive:
            self.disk.flush()
        return (0, b"") if alive else None


def receive(client, length):
    """Exactly this many bytes."""
    data = bytearray(length)
    view = memoryview(data)
    while view:
        got = client.recv_into(view)
        if not got:
            raise EOFError
        view = view[got:]
    return bytes(data)
