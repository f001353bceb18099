# SPDX-License-Identifier: Apache-2.0
"""`make install`: the command lines of the units run as they stand, configurations are kept.

What was built is installed, nothing is built. The directories that systemd would make lie
in the test's own, mounted at /var/lib, /var/cache and /run for the daemon alone.
"""
import configparser
import fnmatch
import glob
import os
import re
import shlex
import shutil
import subprocess
import unittest

from harness import (BIN, GENERATED, LINEAR_TRAINERS, ROOT, TIMEOUT_S, Case, Daemon, call,
                     need, read_json, sanitized, tree, wait_until)

# Pipelines; the prior of machines, a file of its own, is not pulled.
SHIPPED = sorted(name for name in os.listdir(os.path.join(ROOT, "model-db/models"))
                 if os.path.exists(os.path.join(ROOT, "model-db/models", name, "metadata.json")))
DAEMONS = ("tw-collector", "tw-estimator", "tw-server", "tw-trainer")
# What systemd makes for a unit, where, and the variable that names it to the service.
MADE = (("StateDirectory", "/var/lib"), ("CacheDirectory", "/var/cache"),
        ("RuntimeDirectory", "/run"))
BELOW_PREFIX = {"bindir": "bin", "libexecdir": "libexec", "pkgdatadir": "share/tallywatt",
                "unitdir": "lib/systemd/system"}
# As root of a user namespace where the tests' user is not root.
UNSHARE = ["unshare", "--mount", "--propagation", "private"]
if os.geteuid() != 0:
    UNSHARE += ["--user", "--map-root-user"]


def may_mount():
    try:
        return subprocess.run([*UNSHARE, "mount", "-t", "tmpfs", "none", "/run"], check=False,
                              stderr=subprocess.DEVNULL).returncode == 0
    except FileNotFoundError:
        return False


def clean_environment():
    """Without what this machine sets: neither options nor the make that runs the tests."""
    return {name: value for name, value in os.environ.items()
            if name in ("PATH", "HOME", "LANG", "ASAN_OPTIONS", "UBSAN_OPTIONS",
                        "TSAN_OPTIONS")}


def read_bytes(path):
    with open(path, "rb") as f:
        return f.read()


class Unit:
    def __init__(self, path):
        # systemd's format is not quite this, but our units are.
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        parser.optionxform = str
        with open(path, encoding="utf-8") as f:
            self.text = f.read()
        parser.read_string(self.text)
        self.service = dict(parser["Service"])
        self.command = shlex.split(self.service["ExecStart"])


class InstalledDaemon(Daemon):
    """A unit's ExecStart. Ready once its ready file has its address."""

    def __init__(self, case, unit):  # pylint: disable=super-init-not-called
        self.program = os.path.basename(unit.command[0])
        stem = case.path(f"{self.program}-{case.started}")
        self.ready_file = stem + ".ready"
        self.log_file = stem + ".log"
        env = clean_environment()
        mounts = []
        for option, where in MADE:
            ours = case.path("root" + where)
            os.makedirs(ours, exist_ok=True)
            mounts.append(f"mount --bind {shlex.quote(ours)} {where}")
            if option in unit.service:
                os.makedirs(os.path.join(ours, unit.service[option]), exist_ok=True)
                name = option.replace("Directory", "_DIRECTORY").upper()
                env[name] = os.path.join(where, unit.service[option])
        # Not the usual ports, which may be taken.
        if sanitized():
            # The leak check traces its process, which the system call filter refuses.
            env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        env.update({"TW_READY_FILE": self.ready_file,
                    f"{self.program.upper().replace('-', '_')}_LISTEN": "127.0.0.1:0"})
        with open(self.log_file, "wb") as log:
            # pylint: disable-next=consider-using-with
            self.proc = subprocess.Popen(
                [*UNSHARE, "sh", "-c", " && ".join([*mounts, 'exec "$@"']), "sh",
                 *unit.command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env,
                start_new_session=True)
        wait_until(self.has_begun, f"{self.program} is ready")
        if self.proc.poll() is not None:
            raise AssertionError(f"{self.program} ended with {self.proc.returncode}:\n"
                                 f"{self.log()}")
        with open(self.ready_file, encoding="utf-8") as f:
            self.address = f.read().strip()

    def has_begun(self):
        return self.proc.poll() is not None or os.path.exists(self.ready_file)


class Install(Case):
    def make(self, *what, **variables):
        """Its stdout. Programs are those that were built, whatever flags they have."""
        done = subprocess.run(
            ["make", "-C", ROOT, "-o", "all", *what, f"O={os.path.relpath(BIN, ROOT)}", "WEB=0",
             *(f"{name}={value}" for name, value in variables.items())],
            check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=TIMEOUT_S, env=clean_environment())
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout.decode()

    def install(self, target="install"):
        return self.make(target, prefix=self.path("usr"), sysconfdir=self.path("etc"))

    def conf(self, program):
        return self.path("etc/tallywatt", program + ".conf")

    def unit(self, program, top=None):
        return Unit(os.path.join(top or self.path("usr"), BELOW_PREFIX["unitdir"],
                                 program + ".service"))

    def start_unit(self, program):
        need("mount namespaces", may_mount())
        self.started += 1
        daemon = InstalledDaemon(self, self.unit(program))
        self.addCleanup(self.stop_once, daemon)
        return daemon

    # ---- what is where ----

    def check_placed(self, stage, prefix, confdir):
        """All that units and configurations name lies below the stage, at its place."""
        for program in DAEMONS:
            unit = self.unit(program, stage + prefix)
            self.assertEqual(unit.command, [f"{prefix}/bin/{program}", "--config",
                                            f"{confdir}/{program}.conf"])
            for path in unit.command[0::2]:
                self.assertTrue(os.path.isfile(stage + path), path)
            self.assertNotIn("%", unit.service["ExecStart"])
            for path in (f"{confdir}/{program}.conf",
                         f"{prefix}/share/tallywatt/examples/{program}.conf"):
                with open(stage + path, encoding="utf-8") as f:
                    self.assertNotRegex(f.read(), "@[a-z]+@")
            self.assertNotRegex(unit.text, "@[a-z]+dir@")
        with open(f"{stage}{confdir}/tw-server.conf", encoding="utf-8") as f:
            pull = next(line for line in f if line.startswith("pull = "))
        pulled = [path.strip() for path in pull[len("pull = "):].split(",")]
        self.assertEqual(pulled, [f"{prefix}/share/tallywatt/models/{name}"
                                  for name in SHIPPED])
        for path in pulled:
            self.assertTrue(os.path.isdir(stage + path), path)

    def test_staged_files_name_where_they_will_lie(self):
        for prefix, etc in (("/usr", "/etc"), ("/usr/local", "/etc"),
                            ("/opt/tw", "/opt/tw/etc")):
            stage = self.path("stage" + prefix.replace("/", "-"))
            self.make("install", DESTDIR=stage, prefix=prefix)
            self.check_placed(stage, prefix, etc + "/tallywatt")
            self.make("uninstall", DESTDIR=stage, prefix=prefix)
            self.assertEqual(tree(stage), {})

    def test_every_user_may_read_what_root_installs_with_a_private_umask(self):
        umask = os.umask(0o077)
        try:
            self.make("install", DESTDIR=self.path("stage"), prefix="/usr/local")
        finally:
            os.umask(umask)
        for folder, folders, files in os.walk(self.path("stage")):
            for name in folders + files:
                mode = os.stat(os.path.join(folder, name)).st_mode
                self.assertEqual(mode & 0o055, 0o055 if mode & 0o100 else 0o044, os.path.join(folder, name))

    def test_a_configuration_that_is_there_is_kept(self):
        self.install()
        sample = self.path("usr/share/tallywatt/examples/tw-server.conf")
        with open(sample, "rb") as f, open(self.conf("tw-server"), "rb") as g:
            self.assertEqual(f.read(), g.read())
        mine = b"log-level = debug\n"
        with open(self.conf("tw-server"), "wb") as f:
            f.write(mine)
        os.unlink(self.conf("tw-trainer"))
        os.symlink("nowhere", self.conf("tw-trainer"))
        os.unlink(self.conf("tw-estimator"))
        said = self.install()
        self.assertIn(f"kept {self.conf('tw-server')}; the sample is {sample}", said)
        self.assertNotIn("kept " + self.conf("tw-collector"), said)
        with open(self.conf("tw-server"), "rb") as f:
            self.assertEqual(f.read(), mine)
        self.assertEqual(os.readlink(self.conf("tw-trainer")), "nowhere")
        self.assertTrue(os.path.isfile(self.conf("tw-estimator")))

        self.assertIn(f"kept {self.conf('tw-server')}", self.install("uninstall"))
        self.assertEqual(sorted(os.listdir(self.path("etc/tallywatt"))),
                         ["tw-server.conf", "tw-trainer.conf"])
        self.assertEqual(tree(self.path("usr")), {})

    def test_the_spec_of_rpm_names_each_file_once(self):
        rpmspec = shutil.which("rpmspec")
        need("rpmspec", rpmspec is not None)
        done = subprocess.run([rpmspec, "-P", os.path.join(ROOT, "etc/rpm/tallywatt.spec")],
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=TIMEOUT_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        # A build says its version; the sources of a release have it in their name, too.
        version = subprocess.run([os.path.join(BIN, "tw-server"), "--version"], check=True,
                                 stdout=subprocess.PIPE, text=True).stdout.split()[1]
        self.assertIn(f"Version:        {version}\n", done.stdout)
        named = re.findall(r"^(?:%config\(noreplace\) )?(/\S+)$", done.stdout, re.M)
        libdir = os.path.dirname(next(n for n in named if n.endswith("/libtallywatt.a")))
        self.make("install", DESTDIR=self.path("root"), prefix="/usr", libdir=libdir)
        shutil.rmtree(self.path("root/usr/share/doc/tallywatt"))
        found = ["/" + name for name in tree(self.path("root"))]
        for name in named:
            self.assertTrue([f for f in found if fnmatch.fnmatch(f, name) or f.startswith(name + "/")], name)
        for file in found:
            self.assertEqual(sum(fnmatch.fnmatch(file, n) or file.startswith(n + "/") for n in named), 1, file)

    def test_systemd_takes_the_units(self):
        verify = shutil.which("systemd-analyze")
        need("systemd-analyze", verify is not None)
        self.install()
        units = self.path("usr", BELOW_PREFIX["unitdir"])
        done = subprocess.run(
            [verify, "verify", "--man=no", *(os.path.join(units, name)
                                             for name in sorted(os.listdir(units)))],
            check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=TIMEOUT_S, env=clean_environment())
        # Lines about other units of this machine do not count.
        ours = [line for line in done.stdout.decode().splitlines() if "tw-" in line]
        self.assertEqual(ours, [])

    def test_units_are_confined(self):
        """By the measure of systemd: 10 is a service without any limits."""
        analyze = shutil.which("systemd-analyze")
        need("systemd-analyze", analyze is not None)
        self.install()
        for program in DAEMONS:
            unit = self.path("usr", BELOW_PREFIX["unitdir"], program + ".service")
            done = subprocess.run(
                [analyze, "security", "--no-pager", "--offline=yes", unit], check=False,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                timeout=TIMEOUT_S, env=clean_environment())
            text = done.stdout.decode()
            # Releases before 250 judge only units that run.
            need("systemd-analyze security --offline", "offline" not in text)
            level = re.search(r"exposure level for \S+: ([0-9.]+)", text)
            self.assertIsNotNone(level, text)
            self.assertLess(float(level.group(1)), 4 if program == "tw-collector" else 2.5, text)

    def test_the_licence_is_installed(self):
        self.install()
        with open(self.path("usr/share/doc/tallywatt/LICENSE"), "rb") as f, \
                open(os.path.join(ROOT, "LICENSE"), "rb") as g:
            self.assertEqual(f.read(), g.read())

    # ---- the same bytes in any directory ----

    def test_no_program_names_the_directory_that_it_was_built_in(self):
        names = [name for name in sorted(os.listdir(BIN))
                 if os.path.isfile(os.path.join(BIN, name)) and not name.endswith(".pc")
                 and name.startswith(("tw-", "tallywatt", "libtallywatt"))]
        self.assertIn("tallywatt", names)
        for name in names:
            self.assertFalse(os.fsencode(ROOT) in read_bytes(os.path.join(BIN, name)), name)

    def test_two_directories_give_the_same_objects(self):
        bpf = ["build/o/" + name[:-2] + ".o" for name in
               sorted(os.path.relpath(p, ROOT) for p in glob.glob(ROOT + "/bpf/*.bpf.c"))]
        objects = ["build/o/lib/core/err.o", "build/o/model-db/model.o",
                   "build/o/lib/program/version.o"]
        with open(os.path.join(BIN, "flags"), encoding="utf-8") as f:
            objects += bpf if "-DTW_BPF=1" in f.read() else []
        contents = []
        for name in ("a", "another-directory"):
            top = self.path(name)
            shutil.copytree(ROOT, top, symlinks=True,
                            ignore=shutil.ignore_patterns("build", ".git", "models", "corpus"))
            done = subprocess.run(["make", "-C", top, "-j2", "O=build/o", "CCACHE=", "WEB=0",
                                   *objects],
                                  check=False, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=TIMEOUT_S, env=clean_environment())
            self.assertEqual(done.returncode, 0, done.stdout.decode())
            contents.append({o: read_bytes(os.path.join(top, o)) for o in objects})
        for o in objects:
            self.assertTrue(contents[0][o] == contents[1][o], o)

    # ---- what runs ----

    def check_starts(self, *programs):
        self.install()
        for program in programs:
            with self.subTest(program):
                daemon = self.start_unit(program)
                self.assertTrue(daemon.address)
                daemon.stop()
                self.assertNotIn("level=error", daemon.log())

    def test_each_unit_starts_as_it_was_installed(self):
        self.check_starts("tw-estimator", "tw-server", "tw-trainer")

    def test_the_unit_of_the_collector_starts_as_it_was_installed(self):
        # Root of a user namespace cannot become the user that it runs as.
        need("root", os.geteuid() == 0)
        self.check_starts("tw-collector")

    def names_served(self, server):
        """The names of its pipelines; none before the first is there."""
        return [p["name"] for p in
                call(server, "GET", "/api/v1/pipelines").json()["pipelines"]]

    def test_the_server_serves_the_shipped_and_the_trained_models(self):
        self.install()
        server = self.start_unit("tw-server")
        wait_until(lambda: self.names_served(server) == SHIPPED, "shipped models are served")
        best = call(server, "GET", "/best-models").json()
        self.assertIn("BPFOnly", best["AbsPower"])
        answer = call(server, "POST", "/model", {
            "metrics": ["bpf_cpu_time_ms"], "output_type": "AbsPower", "weight": True,
            "trainer_name": "SGDRegressorTrainer"})
        self.assertEqual(answer.status, 200, answer.body)
        self.assertIn("package", answer.json())

        answer = call(server, "POST", "/model", {
            "metrics": ["bpf_cpu_time_ms"], "output_type": "AbsPower", "source": "acpi",
            "weight": True, "machine_spec": {"processor": "amd_epyc_7713", "cores": 8}})
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.json()["machine_spec"]["processor"], "amd_epyc_7713")

        trainer = self.start_unit("tw-trainer")
        answer = call(trainer, "POST", "/train", {
            "name": "site", "energy_source": "rapl-sysfs",
            "trainer": {"abs_trainers": LINEAR_TRAINERS, "dyn_trainers": [],
                        "isolator": "MinIdleIsolator", "isolator_args": {}},
            "prom_response": read_json(GENERATED["0.7"])})
        self.assertEqual(answer.status, 200, answer.body[:300])
        wait_until(lambda: self.names_served(server) == sorted([*SHIPPED, "site"]),
                   "the trained pipeline is served, too")
        server.stop()
        # A restarted server serves them from its first request on.
        server = self.start_unit("tw-server")
        self.assertEqual(self.names_served(server), sorted([*SHIPPED, "site"]))


if __name__ == "__main__":
    unittest.main()
