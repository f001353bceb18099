# SPDX-License-Identifier: Apache-2.0
"""Web configurations: what the tests of every daemon's TLS and users share."""
import base64
import http.client
import os
import shutil
import ssl

from harness import ROOT, TIMEOUT_S, Answer, Case

TLS = os.path.join(ROOT, "tests/data/tls")
# "secret"
HASH = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"


def basic(name, password):
    token = base64.b64encode(f"{name}:{password}".encode()).decode()
    return {"Authorization": "Basic " + token}


def ask(server, certificate, path="/livez", headers=None, client=None):
    """A request that trusts one certificate; client is that of the client."""
    context = ssl.create_default_context(cafile=os.path.join(TLS, certificate + ".crt"))
    if client:
        context.load_cert_chain(os.path.join(TLS, client + ".crt"),
                                os.path.join(TLS, client + ".key"))
    host, port = server.address.rsplit(":", 1)
    connection = http.client.HTTPSConnection(host, int(port), timeout=TIMEOUT_S,
                                             context=context)
    try:
        connection.request("GET", path, headers=headers or {})
        return Answer(connection.getresponse())
    finally:
        connection.close()


class WebCase(Case):
    TLS_ONLY = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"
    USERS = f"basic_auth_users:\n  alice: {HASH}\n"

    def web(self, text, certificate=None):
        if certificate:
            for kind in ("crt", "key"):
                shutil.copy(os.path.join(TLS, f"{certificate}.{kind}"),
                            self.path(f"server.{kind}"))
        return self.write("web.yml", text)
