# SPDX-License-Identifier: Apache-2.0
"""The descriptions of the daemons' APIs (/openapi.json): whole, true, strict, and good for a
generated client."""
import glob
import json
import os
import re
import shutil
import subprocess
import unittest

from harness import (BIN, LINEAR_TRAINERS, QUICK, ROOT, TIMEOUT_S, Case, call, need, need_fleet, sanitized,
                     train_generated)

MODULES = os.environ.get("WEB_MODULES", os.path.join(BIN, "web/node_modules"))
DESCRIPTIONS = {"server": "server/openapi.json", "trainer": "trainer/service/openapi.json",
                "collector": "collector/expose/openapi.json"}
# Files with routes.
ROUTES = {"server": "server/*.c", "trainer": "trainer/service/*.c", "collector": "collector/expose/*.c"}
MODEL = "/api/v1/models/{pipeline}/{source}/{output}/{group}/{model}"
ROUTE = re.compile(r'^\t\{ "([A-Z]+)", "([^"]+)",\s+\.handle', re.MULTILINE)
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
         "number": (int, float), "null": type(None)}


def routes(daemon):
    found = set()
    for path in glob.glob(os.path.join(ROOT, ROUTES[daemon])):
        with open(path, encoding="utf-8") as f:
            text = f.read().replace("MODEL_PATH,", f'"{MODEL}",').replace('MODEL_PATH "', f'"{MODEL}')
        found |= {(method.lower(), route) for method, route in ROUTE.findall(text)}
    return found


def mismatch(value, schema, doc, at=""):
    """Why a value is not of a schema; None: it is. The keywords that the descriptions use."""
    if "$ref" in schema:
        target = doc
        for key in schema["$ref"][2:].split("/"):
            target = target[key]
        return mismatch(value, target, doc, at)
    for part in schema.get("allOf", []):
        wrong = mismatch(value, part, doc, at)
        if wrong:
            return wrong
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(isinstance(value, TYPES[k]) and (k == "boolean" or not isinstance(value, bool))
                         for k in kinds):
        return f"{at}: {value!r:.60} is not of {kinds}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{at}: {value!r:.60} is not in {schema['enum']}"
    if isinstance(value, list):
        parts = [(item, schema.get("items", {}), f"{at}[{i}]") for i, item in enumerate(value)]
    elif isinstance(value, dict):
        missing = [key for key in schema.get("required", []) if key not in value]
        if missing:
            return f"{at}: no {missing}"
        rest = schema.get("additionalProperties", {})
        parts = [(v, schema.get("properties", {}).get(k, rest if isinstance(rest, dict) else {}),
                  f"{at}.{k}") for k, v in value.items()]
    else:
        return None
    return next(filter(None, (mismatch(*part[:2], doc, part[2]) for part in parts)), None)


def tools():
    """The linter, the generator and the compiler; skips where npm cannot get them."""
    if QUICK:
        raise unittest.SkipTest("a sanitizer changes nothing about a description")
    have = shutil.which("node") and subprocess.run(
        [os.path.join(ROOT, "web/modules"), "node", "npm", MODULES, "--dev"], check=False,
        stdin=subprocess.DEVNULL).returncode == 0
    need("openapi", have)


class Descriptions(Case):
    def tool(self, *command):
        done = subprocess.run(command, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=TIMEOUT_S, check=False,
                              env=dict(os.environ, REDOCLY_TELEMETRY="off",
                                       REDOCLY_SUPPRESS_UPDATE_NOTICE="true"))
        self.assertEqual(done.returncode, 0, done.stdout.decode())
        return done.stdout.decode()

    def daemons(self):
        train_generated(self.path("db"), trainers=LINEAR_TRAINERS[:1])
        return {"server": self.start_http("tw-server", "--model-db", self.path("db")),
                "trainer": self.start_http("tw-trainer", "--threads", "1"),
                "collector": self.start_http("tw-collector", "--meters", "fake", "--interval", "100ms",
                                             "--bpf", "off", "--user", "root",
                                             *(["--filter=no"] if sanitized() else []))}

    def check_answer(self, daemon, doc, path, operation):
        """Ask with the examples of the path's parameters; the answer is as described."""
        for p in operation.get("parameters", []):
            if p["in"] == "path":
                path = path.replace("{" + p["name"] + "}", self.names.get(p["name"], str(p["example"])))
        answer = call(daemon, "GET", path)
        described = operation["responses"].get(str(answer.status))
        self.assertIsNotNone(described, f"{path}: {answer.status} {answer.body[:200]}")
        if "$ref" in described:
            described = doc["components"]["responses"]["Problem"]
        kind = answer.headers["Content-Type"].split(";")[0]
        self.assertIn(kind, described["content"], path)
        if kind.endswith("json"):
            schema = described["content"][kind].get("schema", {})
            self.assertIsNone(mismatch(answer.json(), schema, doc, path))
        return answer.status

    def test_descriptions_are_of_all_routes_and_their_answers(self):
        need_fleet()  # the sources have all routes
        self.names = {"pipeline": "simulated", "group": "CounterOnly"}
        daemons = self.daemons()
        for name, daemon in daemons.items():
            doc = call(daemon, "GET", "/openapi.json").json()
            with open(os.path.join(ROOT, DESCRIPTIONS[name]), encoding="utf-8") as f:
                self.assertEqual(doc, json.load(f))
            described = {(method, path) for path, of in doc["paths"].items() for method in of}
            self.assertEqual(described, routes(name))
            good = 0
            for path, of in doc["paths"].items():
                if "get" in of:
                    good += self.check_answer(daemon, doc, path, of["get"]) == 200
            # There is no job, agent or plot; a build without pages has no files of them.
            self.assertGreater(good, len(doc["paths"]) // 3, name)

    def test_each_operation_has_tags_and_an_example(self):
        for path in DESCRIPTIONS.values():
            with open(os.path.join(ROOT, path), encoding="utf-8") as f:
                doc = json.load(f)
            self.assertTrue(doc["servers"] and doc["security"])
            self.assertIn("user", doc["components"]["securitySchemes"])
            tags = {tag["name"] for tag in doc["tags"]}
            for route, of in doc["paths"].items():
                for method, operation in of.items():
                    where = f"{path}: {method} {route}"
                    self.assertTrue(operation["tags"] and set(operation["tags"]) <= tags, where)
                    self.assertIn('"example"', json.dumps(operation), where)

    def test_a_strict_linter_has_no_complaint(self):
        tools()
        self.tool(os.path.join(MODULES, ".bin/redocly"), "lint", "--extends=recommended-strict",
                  *(os.path.join(ROOT, path) for path in DESCRIPTIONS.values()))

    def test_a_generated_client_talks_to_the_daemons(self):
        tools()
        os.symlink(MODULES, self.path("node_modules"))
        for name, path in DESCRIPTIONS.items():
            self.tool("node_modules/.bin/openapi-typescript", os.path.join(ROOT, path),
                      "--default-non-nullable=false", "-o", self.path(f"{name}.d.ts"))
        need_fleet()  # the client asks for agents
        shutil.copy(os.path.join(ROOT, "tests/api/client.ts"), self.dir)
        self.tool("node_modules/.bin/tsc", "--noEmit", "--strict", "--target", "es2022", "--module",
                  "esnext", "--moduleResolution", "bundler", "--lib", "es2022,dom", "--skipLibCheck",
                  "client.ts")
        self.tool("node_modules/.bin/esbuild", "client.ts", "--bundle", "--format=esm",
                  "--platform=node", "--outfile=client.mjs", "--log-level=warning")
        daemons = self.daemons()
        said = json.loads(self.tool("node", "client.mjs", *(
            f"http://{daemons[name].address}" for name in DESCRIPTIONS)))
        self.assertEqual(said["name"], "LinearRegressionTrainer_0")
        self.assertGreater(said["total"], 1)
        self.assertEqual((said["loads"], said["jobs"], said["no_job"]), (33, 0, 404))
        self.assertIn("package", said["weights"])
        self.assertIn("needs metric", said["refused"])
        self.assertEqual(said["level"], "node")
        self.assertIn("--agents", said["no_agents"])


if __name__ == "__main__":
    unittest.main()
