# SPDX-License-Identifier: Apache-2.0
"""A management controller that speaks Redfish, in the shapes of DMTF's mockups.

`controller.tree` is what it has, path -> document, or [status, document]; change it while it runs. `trouble`
is what goes wrong: a status for each request, "garbage", "slow" or None.
"""
import base64
import http.server
import json
import socket
import ssl
import threading

import answering


V1 = "/redfish/v1"
USER, PASSWORD = "reader", "s\"ecret\\"


def link(path):
    return {"@odata.id": path}


def collection(paths):
    return {"@odata.type": "#ChassisCollection.ChassisCollection",
            "Name": "Chassis Collection", "Members@odata.count": len(paths),
            "Members": [link(p) for p in paths]}


def chassis(name, kind="RackMount", inside=None, power=True, metrics=False):
    path = f"{V1}/Chassis/{name}"
    doc = {"@odata.type": "#Chassis.v1_21_0.Chassis", "Id": name, "Name": "Computer System Chassis",
           "ChassisType": kind, "PowerState": "On", "Status": {"State": "Enabled", "Health": "OK"},
           "Links": {"ComputerSystems": [link(f"{V1}/Systems/437XR1138R2")]},
           "@odata.id": path}
    if inside:
        doc["Links"]["ContainedBy"] = link(f"{V1}/Chassis/{inside}")
    if power:
        doc["Power"] = link(f"{path}/Power")
    if metrics:
        doc["EnvironmentMetrics"] = link(f"{path}/EnvironmentMetrics")
        doc["PowerSubsystem"] = link(f"{path}/PowerSubsystem")
    return doc


def power(watts, minutes=30, average=319):
    return {"@odata.type": "#Power.v1_7_1.Power", "Id": "Power", "Name": "Power",
            "PowerControl": [{
                "MemberId": "0", "Name": "System Input Power", "PowerConsumedWatts": watts,
                "PowerRequestedWatts": 800, "PowerCapacityWatts": 800,
                "PowerMetrics": {"IntervalInMin": minutes, "MinConsumedWatts": 271,
                                 "MaxConsumedWatts": 489, "AverageConsumedWatts": average},
                "PowerLimit": {"LimitInWatts": 500, "LimitException": "LogEventOnly"},
                "Status": {"State": "Enabled", "Health": "OK"}, "Oem": {}}],
            "PowerSupplies": [{"MemberId": "0", "LastPowerOutputWatts": 325}]}


def supplies(name, watts):
    """A chassis with a power supply for each number, which nothing else sums up."""
    doc = chassis(name, power=False)
    top = f"{doc['@odata.id']}/PowerSubsystem"
    doc["PowerSubsystem"] = link(top)
    bays = [f"PowerSubsystem/PowerSupplies/Bay{i}" for i in range(len(watts))]
    below = {"PowerSubsystem": {"@odata.type": "#PowerSubsystem.v1_1_2.PowerSubsystem",
                                "Id": "PowerSubsystem", "CapacityWatts": 2000,
                                "PowerSupplies": link(f"{top}/PowerSupplies")},
             "PowerSubsystem/PowerSupplies": collection(
                 [f"{doc['@odata.id']}/{bay}" for bay in bays])}
    for bay, reading in zip(bays, watts):
        below[bay] = {"@odata.type": "#PowerSupply.v1_5_2.PowerSupply", "Id": bay[-4:],
                      "Status": {"State": "Enabled", "Health": "OK"},
                      "Metrics": link(f"{doc['@odata.id']}/{bay}/Metrics")}
        below[f"{bay}/Metrics"] = {
            "@odata.type": "#PowerSupplyMetrics.v1_1_1.PowerSupplyMetrics", "Id": "Metrics",
            "InputPowerWatts": {"Reading": reading}, "OutputPowerWatts": {"Reading": reading * .9},
            "EnergykWh": {"Reading": 325.675}}
    return doc, below


def metrics(watts, kwh):
    return {"@odata.type": "#EnvironmentMetrics.v1_3_1.EnvironmentMetrics",
            "Id": "EnvironmentMetrics", "Name": "Chassis Environment Metrics",
            "PowerWatts": {"Reading": watts, "DataSourceUri": f"{V1}/Chassis/1U/Sensors/TotalPower"},
            "EnergykWh": {"Reading": kwh, "LifetimeReading": 6491}}


class Handler(answering.Handler):
    protocol_version = "HTTP/1.1"

    def reply(self, status, doc=None, headers=()):
        self.answer(doc if isinstance(doc, bytes) else json.dumps(doc).encode(), status,
                    [*headers, ("Content-Type", "application/json; charset=utf-8")])

    def refuse(self, status, text):
        self.reply(status, {"error": {"code": "Base.1.8.GeneralError", "message": "See info.",
                                       "@Message.ExtendedInfo": [{"Message": text}]}})

    def in_trouble(self):
        bmc = self.server.bmc
        trouble = bmc.trouble
        if trouble == "slow":
            bmc.over.wait()
            self.close_connection = True
        elif trouble == "garbage":
            self.reply(200, b"<html>{ 404 }")
        elif trouble is not None:
            self.refuse(trouble, "trouble")
        return trouble is not None

    def is_known(self):
        bmc = self.server.bmc
        if not bmc.needs_login:
            return True
        token = self.headers.get("X-Auth-Token")
        given = self.headers.get("Authorization", "")
        basic = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        return token in bmc.sessions or (bmc.basic and given == basic)

    def do_GET(self):
        bmc = self.server.bmc
        path = self.path.rstrip("/")
        bmc.asked.append(path)
        if self.in_trouble():
            return
        if path != V1 and not self.is_known():
            self.refuse(401, "There is no valid session established.")
        elif path in bmc.tree:
            found = bmc.tree[path]
            self.reply(*found if isinstance(found, list) else (200, found))
        else:
            self.refuse(404, "The resource was not found.")

    def do_POST(self):
        bmc = self.server.bmc
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.in_trouble():
            return
        if bmc.redirect:
            self.reply(307, {}, [("Location", bmc.redirect + self.path)])
            return
        if self.path != f"{V1}/SessionService/Sessions" or not bmc.makes_sessions:
            self.refuse(405, "The method is not allowed.")
            return
        bmc.logins += 1
        if json.loads(body) != {"UserName": USER, "Password": PASSWORD}:
            self.refuse(401, "The user name or password is wrong.")
            return
        token = f"token-{bmc.logins}"
        bmc.sessions[token] = f"{self.path}/{bmc.logins}"
        self.reply(201, {"@odata.id": bmc.sessions[token], "Id": str(bmc.logins)},
                    [("X-Auth-Token", token),
                     ("Location", f"https://{self.headers['Host']}{bmc.sessions[token]}")])

    def do_DELETE(self):
        bmc = self.server.bmc
        token = self.headers.get("X-Auth-Token")
        if bmc.sessions.get(token) != self.path:
            self.refuse(401, "There is no valid session established.")
            return
        del bmc.sessions[token]
        self.reply(200, {})


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Clients that do not believe a certificate go away; that is theirs to say."""


class Server6(Server):
    address_family = socket.AF_INET6


class Controller:
    """Listens until close(). certificate: (file, key file), or None for http."""

    def __init__(self, certificate=None, port=0, host="127.0.0.1"):
        self.tree, self.sessions, self.asked = {}, {}, []
        self.trouble, self.makes_sessions, self.basic = None, True, True
        self.logins, self.redirect = 0, None  # redirect: where logins are sent
        self.needs_login = True
        self.over = threading.Event()
        self.server = (Server6 if ":" in host else Server)((host, port), Handler)
        self.server.bmc = self
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True,
                                                     do_handshake_on_connect=False)
            self.url = f"https://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def have(self, *all_chassis):
        """These chassis and what is below them: (chassis, {name: document})."""
        self.tree = {V1: {"@odata.type": "#ServiceRoot.v1_13_0.ServiceRoot", "Id": "RootService",
                          "RedfishVersion": "1.15.0", "Chassis": link(f"{V1}/Chassis"),
                          "Links": {"Sessions": link(f"{V1}/SessionService/Sessions")}},
                     f"{V1}/Chassis": collection([c["@odata.id"] for c, _ in all_chassis])}
        for doc, below in all_chassis:
            self.tree[doc["@odata.id"]] = doc
            for name, value in below.items():
                self.tree[f"{doc['@odata.id']}/{name}"] = value

    def close(self):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
