# SPDX-License-Identifier: Apache-2.0
"""An HTTP server whose files, tags and troubles a test decides while it runs."""
import http.server
import threading

import answering


class Served:
    """What a path answers. `etag` None: it has none, and no part of it can be had."""

    def __init__(self, data, etag='"1"', status=200, endless=False, location=None):
        self.data = data
        self.etag = etag
        self.status = status
        self.cut = None   # close the connection after so many bytes, once
        self.hold = None  # an event: after `cut` bytes wait for it, then close
        self.endless = endless    # a byte now and then, for ever
        self.location = location  # of a redirect


class Files:
    def __init__(self):
        self.at = {}
        self.seen = []  # (path, headers) of each request
        self.sent = {}  # path -> bytes of bodies
        self.closing = threading.Event()
        files = self

        class Handler(answering.Handler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                files.answer(self)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def url(self, path, user=""):
        return f"http://{user}127.0.0.1:{self.port}{path}"

    def close(self):
        if not self.closing.is_set():
            self.closing.set()
            self.server.shutdown()
            self.server.server_close()
            self.thread.join()

    def requests(self, path):
        return [headers for p, headers in self.seen if p == path]

    # ---- one request ----

    def answer(self, request):
        path = request.path.split("?")[0]
        self.seen.append((path, request.headers))
        served = self.at.get(path)
        if served is None or served.status != 200:
            return self.refuse(request, 404 if served is None else served.status, served)
        if served.etag and request.headers.get("If-None-Match") == served.etag:
            request.send_response(304)
            request.send_header("ETag", served.etag)
            request.end_headers()
            return None
        return self.send(request, path, served)

    @staticmethod
    def refuse(request, status, served):
        body = b"no such thing\n"
        request.send_response(status)
        if served is not None and served.location:
            request.send_header("Location", served.location)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    @staticmethod
    def part(request, served):
        """Where the body begins, by Range and If-Range."""
        wanted = request.headers.get("Range")
        if not wanted or not served.etag or request.headers.get("If-Range") != served.etag:
            return 0
        return int(wanted[len("bytes="):-1])

    def send(self, request, path, served):
        first = self.part(request, served)
        size = len(served.data)
        if first >= size > 0 and first:
            request.send_response(416)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        request.send_response(206 if first else 200)
        if served.etag:
            request.send_header("ETag", served.etag)
        if first:
            request.send_header("Content-Range", f"bytes {first}-{size - 1}/{size}")
        request.send_header("Content-Type", "application/zip")
        length = 1 << 20 if served.endless else size - first
        request.send_header("Content-Length", str(length))
        request.end_headers()
        try:
            self.send_body(request, path, served, first)
        except OSError:
            request.close_connection = True

    def send_body(self, request, path, served, first):
        # A test may change these as soon as bytes are counted.
        body, hold = served.data[first:], served.hold
        if served.cut is not None:
            body, served.cut = body[:served.cut], None
            request.close_connection = True
        # Counted first: the reader may be done with it before this thread goes on.
        self.sent[path] = self.sent.get(path, 0) + len(body)
        request.wfile.write(body)
        if hold is not None:
            hold.wait(60)
            request.close_connection = True
        while served.endless and not self.closing.wait(0.05):
            request.wfile.write(b"x")
