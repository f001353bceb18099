# SPDX-License-Identifier: Apache-2.0
"""A name server of a few names, by UDP and TCP (RFC 1035), and namespaces in which the
machine's resolver asks it."""
import ctypes
import fcntl
import functools
import os
import socket
import socketserver
import struct
import threading

from harness import need

TYPES = {1: "A", 28: "AAAA"}
FAMILIES = {"A": socket.AF_INET, "AAAA": socket.AF_INET6}
NO_ERROR, SERVER_FAILURE, NO_NAME = 0, 2, 3
AUTHORITATIVE, TRUNCATED = 0x8400, 0x0200
UDP_MAX = 512

CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 0x1, 0x40

libc = ctypes.CDLL(None, use_errno=True)


class Names:
    """`records` is what it knows: name -> [(type, address)]; a name without any has no
    address. `asked` is what it was asked: (protocol, name, type). `trouble` is "silent" (no
    answer to UDP), "failing", or None. Change them while it runs."""

    def __init__(self, records, host="127.0.0.1"):
        self.records, self.asked, self.trouble = records, [], None
        self.servers = [kind((host, 53), handler) for kind, handler in
                        ((Datagrams, Datagram), (Streams, Stream))]
        self.threads = []
        for server in self.servers:
            server.names = self
            thread = threading.Thread(target=server.serve_forever, args=(0.05,))
            thread.start()
            self.threads.append(thread)

    def close(self):
        for server, thread in zip(self.servers, self.threads):
            server.shutdown()
            server.server_close()
            thread.join()

    def answer(self, protocol, query):
        """An answer of any size."""
        name, end = read_name(query)
        kind = TYPES.get(struct.unpack_from(">H", query, end)[0], "other")
        question = query[12:end + 4]
        self.asked.append((protocol, name, kind))
        code = SERVER_FAILURE if self.trouble == "failing" else \
            NO_ERROR if name in self.records else NO_NAME
        found = [] if code else [address for its, address in self.records[name] if its == kind]
        head = query[:2] + struct.pack(">HHHHH", AUTHORITATIVE | code, 1, len(found), 0, 0)
        return head + question + b"".join(record(kind, address) for address in found)


def read_name(query):
    """The name of the only question, and where its type is."""
    parts, at = [], 12
    while query[at]:
        parts.append(query[at + 1:at + 1 + query[at]].decode())
        at += 1 + query[at]
    return ".".join(parts), at + 1


def record(kind, address):
    """Of the question's name, which is at 12."""
    data = socket.inet_pton(FAMILIES[kind], address)
    number = next(n for n, name in TYPES.items() if name == kind)
    return struct.pack(">HHHIH", 0xC00C, number, 1, 1, len(data)) + data


class Datagrams(socketserver.ThreadingUDPServer):
    allow_reuse_address = daemon_threads = True


class Streams(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


class Datagram(socketserver.BaseRequestHandler):
    def handle(self):
        data, sock = self.request
        answer = self.server.names.answer("udp", data)
        if self.server.names.trouble == "silent":
            return
        if len(answer) > UDP_MAX:
            name_end = read_name(data)[1] + 4
            flags = struct.pack(">HHHHH", AUTHORITATIVE | TRUNCATED, 1, 0, 0, 0)
            answer = data[:2] + flags + data[12:name_end]
        sock.sendto(answer, self.client_address)


class Stream(socketserver.StreamRequestHandler):
    def handle(self):
        """Questions until the other end has no more: a resolver asks two by one connection."""
        while True:
            size = self.rfile.read(2)
            if len(size) < 2:
                return
            answer = self.server.names.answer("tcp", self.rfile.read(*struct.unpack(">H", size)))
            self.wfile.write(struct.pack(">H", len(answer)) + answer)


# ---- namespaces ------------------------------------------------------------

def call_libc(name, *args):
    if getattr(libc, name)(*args) < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")


def bind_mount(source, target):
    call_libc("mount", source.encode(), target.encode(), None, MS_BIND, None)


def enter_namespaces():
    """This thread's, and of what it starts: a network with a loopback device only, and
    mounts."""
    try:
        call_libc("unshare", CLONE_NEWNET | CLONE_NEWNS)
    except OSError:
        need("network namespaces", False)
    call_libc("mount", None, b"/", None, MS_REC | MS_PRIVATE, None)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP | IFF_RUNNING))


def in_namespaces(method):
    """A test that runs in a thread of its own, in namespaces of its own."""
    @functools.wraps(method)
    def run(self):
        failed = []

        def body():
            try:
                enter_namespaces()
                method(self)
            except BaseException as e:
                failed.append(e)
            finally:
                self.doCleanups()
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
        if failed:
            raise failed[0]
    return run
