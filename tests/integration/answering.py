# SPDX-License-Identifier: Apache-2.0
"""HTTP servers of tests: a handler that keeps silent, and a server that ends with the test."""
import http.server
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, body, status=200, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def serve(case, server):
    """The URL of a server, or of one with this handler."""
    if isinstance(server, type):
        server = http.server.HTTPServer(("127.0.0.1", 0), server)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    case.addCleanup(server.server_close)
    case.addCleanup(thread.join)
    case.addCleanup(server.shutdown)
    return f"http://127.0.0.1:{server.server_port}"
