# SPDX-License-Identifier: Apache-2.0
"""Latency of a client that behaves, while others do not: connect and leave, half a request,
a byte a second, 10 MB of brackets, answers that nobody reads, 200 at once."""
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request

from bench import Goals, Scratch, Table
from bench_estimator import (CLIENT_CORE, LINEAR, LOAD, SECONDS, pin, request,
                             start_estimator, ask, stop)

P99_MS = 1.0


def connect(path):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    return s


def give_up(send, data):
    """Send to one who may hang up."""
    try:
        send(data)
        return True
    except OSError:
        return False


def connects(path, ended):
    for _ in range(10000):
        connect(path).close()
        if ended.is_set():
            return


def halves(path, ended):
    data = request(LINEAR, 10)
    while not ended.is_set():
        with connect(path) as s:
            give_up(s.sendall, data[:len(data) // 2])


def slow(path, ended):
    clients = [connect(path) for _ in range(50)]
    data = request(LINEAR, 1)
    for byte in data:
        for s in clients:
            give_up(s.sendall, bytes([byte]))
        if ended.wait(1):
            break
    for s in clients:
        s.close()


def brackets(path, ended):
    block = b"[" * 65536
    while not ended.is_set():
        with connect(path) as s:
            for _ in range(10_000_000 // len(block)):
                if not give_up(s.sendall, block):
                    break


def unread(path, ended):
    data = request(LINEAR, 1) * 1000
    clients = [connect(path) for _ in range(8)]
    for s in clients:
        s.setblocking(False)
        give_up(s.send, data)
    ended.wait()
    for s in clients:
        s.close()


def many_at_once(path, ended):
    data = request(LINEAR, 1)
    while not ended.is_set():
        clients = [connect(path) for _ in range(200)]
        for s in clients:
            give_up(s.sendall, data)
        for s in clients:
            s.recv(4096)
            s.close()
        ended.wait(0.05)


def nobody(_, ended):
    ended.wait()


KINDS = (("nobody else", nobody), ("10,000 connects", connects), ("half a request", halves),
         ("a byte a second", slow), ("10 MB of [", brackets),
         ("1000 answers unread", unread), ("200 at once", many_at_once))


def behind():
    """On the clients' core, but behind the one who is measured: what is measured is the
    server, not the scheduler."""
    pin(CLIENT_CORE)()
    os.nice(19)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def counted(url):
    """Connections so far, and requests that were refused."""
    with urllib.request.urlopen(url) as f:
        lines = f.read().decode().splitlines()
    return [sum(float(line.split()[-1]) for line in lines if line.startswith(name))
            for name in ("tallywatt_estimator_connections_total",
                         "tallywatt_estimator_refused_total")]


def measure(path, kind, file, url):
    """requests/s, p50 and p99 in us of the one who behaves; connections of the others and
    requests of theirs that were refused."""
    before = counted(url)
    ended = threading.Event()
    other = subprocess.Popen([sys.executable, __file__, kind, path], stdin=subprocess.PIPE,
                             preexec_fn=behind)
    until = time.monotonic() + 10
    while kind != "nobody else" and counted(url)[0] == before[0]:
        if time.monotonic() > until:
            sys.exit(f"{kind}: they do not come")
        time.sleep(0.01)
    out = subprocess.run([LOAD, "ask", path, "1", str(max(SECONDS, 1)), file, "line"],
                         stdout=subprocess.PIPE, check=True,
                         preexec_fn=pin(CLIENT_CORE)).stdout
    ended.set()
    others = [after - start for start, after in zip(before, counted(url))]
    other.stdin.close()
    other.wait()
    # One of the connections was the measured client's own.
    return *(float(v) for v in out.split()), others[0] - 1, others[1]


def main():
    goals = Goals()
    with Scratch() as top:
        path, file = os.path.join(top, "estimator"), os.path.join(top, "request")
        with open(file, "wb") as f:
            f.write(request(LINEAR, 1))
        port = free_port()
        estimator = start_estimator(path, "--metrics-listen", f"127.0.0.1:{port}")
        try:
            assert ask(path, request(LINEAR, 1))["powers"]
            print("one client that behaves, all clients on one core, the server on another; us; "
                  "what the others did")
            table = Table(("while", -20, ""), ("requests/s", 10, ".0f"), ("p50", 8, ".1f"),
                          ("p99", 8, ".1f"), ("connections", 11, ".0f"), ("refused", 7, ".0f"))
            worst = {}
            for name, _ in KINDS:
                figures = measure(path, name, file, f"http://127.0.0.1:{port}/metrics")
                table.row(name, *figures)
                worst[name] = figures[2]
            for name, p99 in worst.items():
                goals.at_most(f"p99 while: {name}", p99 / 1000, P99_MS, "ms")
        finally:
            stop(estimator)
    goals.exit()


def misbehave(name, path):
    """Until the one who started us closes our standard input."""
    ended = threading.Event()
    worker = threading.Thread(target=dict(KINDS)[name], args=(path, ended), daemon=True)
    worker.start()
    sys.stdin.read()
    ended.set()
    worker.join(5)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        misbehave(*sys.argv[1:])
    else:
        main()
