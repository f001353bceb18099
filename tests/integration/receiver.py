# SPDX-License-Identifier: Apache-2.0
"""A receiver of OTLP and of Prometheus' remote write that reads the requests of both, or
misbehaves."""
import gzip
import http.server
import struct
import threading

import answering



def varint(data, at):
    """The number that begins at a place, and the place after it."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """(number, value) of each field of a protobuf message; value is an int or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
            yield tag >> 3, value
            continue
        size, at = varint(data, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
        if at + size > len(data):
            raise ValueError("a field is cut short")
        yield tag >> 3, data[at:at + size]
        at += size


def of(data, number):
    return [value for n, value in fields(data) if n == number]


def text(data, number):
    return b"".join(of(data, number)).decode()


def unsnap(data):
    """Snappy's block format, by its description."""
    out = bytearray()
    size, at = varint(data, 0)
    while at < len(data):
        tag, n = data[at], (data[at] >> 2) + 1
        at += 1
        if tag & 3 == 0:
            if n > 60:
                more = n - 60
                n = int.from_bytes(data[at:at + more], "little") + 1
                at += more
            out += data[at:at + n]
            at += n
            continue
        if tag & 3 != 2:
            raise ValueError("an element that is not written")
        offset = int.from_bytes(data[at:at + 2], "little")
        at += 2
        for _ in range(n):
            out.append(out[-offset])
    if len(out) != size:
        raise ValueError(f"{len(out)} bytes, not {size}")
    return bytes(out)


def remote_write(body):
    """(labels, value, ms) of each series."""
    for series in of(unsnap(body), 1):
        labels = [(text(label, 1), text(label, 2)) for label in of(series, 1)]
        if labels != sorted(labels) or len(dict(labels)) != len(labels):
            raise ValueError(f"labels are not sorted, or not unique: {labels}")
        for sample in of(series, 2):
            yield dict(labels), struct.unpack("<d", of(sample, 1)[0])[0], of(sample, 2)[0]


def attributes(pairs):
    found = {}
    for pair in pairs:
        (number, value), = fields(of(pair, 2)[0])
        found[text(pair, 1)] = value.decode() if number == 1 else value
    return found


def otlp(body):
    """(resource, metric, attributes, value, start, time) of each point. metric: name, unit, and
    whether it is a sum, which must be cumulative and monotonic."""
    for resource in of(gzip.decompress(body), 1):
        has = attributes(of(of(resource, 1)[0], 1))
        names = []
        for metric in (m for scope in of(resource, 2) for m in of(scope, 2)):
            data = dict(fields(metric))
            names.append(text(metric, 1))
            if 7 in data and (of(data[7], 2), of(data[7], 3)) != ([2], [1]):
                raise ValueError(f"{names[-1]}: not cumulative and monotonic")
            for point in of(data.get(7, data.get(5)), 1):
                values = dict(fields(point))
                yield (has, (names[-1], text(metric, 3), 7 in data), attributes(of(point, 7)),
                       struct.unpack("<d", values[4])[0],
                       *(struct.unpack("<Q", values[n])[0] if n in values else None
                         for n in (2, 3)))
        if len(set(names)) != len(names):
            raise ValueError(f"a metric twice: {names}")


class Receiver:
    """`answer` is how the next requests are answered: a status, with headers and a body, or
    "hang" and "drip", which end when it changes. `bodies` has (path, headers, body) of each."""

    def __init__(self, case, answer=(200, {}, b"")):
        self.answer = answer
        self.bodies = []
        outer = self

        class Handler(answering.Handler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.bodies.append((self.path, dict(self.headers), body))
                try:
                    outer.reply(self)
                except OSError:
                    self.close_connection = True

        self.httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.httpd.daemon_threads = True
        self.httpd.handle_error = lambda *_: None
        self.url = f"http://127.0.0.1:{self.httpd.server_address[1]}"
        thread = threading.Thread(target=self.httpd.serve_forever, args=(0.01,))
        thread.start()
        case.addCleanup(self.stop, thread)

    def stop(self, thread):
        self.answer = (200, {}, b"")
        self.httpd.shutdown()
        thread.join()
        self.httpd.server_close()

    def reply(self, request):
        pause, answer = threading.Event(), self.answer
        while self.answer is answer and answer in ("hang", "drip"):
            if answer == "drip":
                request.wfile.write(b"H")
                request.wfile.flush()
            pause.wait(0.05)
        if answer in ("hang", "drip"):
            request.close_connection = True
            return
        status, headers, body = answer
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)
