# SPDX-License-Identifier: Apache-2.0
"""The prior of machines: tw-server, tw-collector with only a database."""
import os
import re
import shutil
import unittest

from harness import Case, call, children, sanitized, wait_until

SHIPPED = "model-db/models"
PRIOR = SHIPPED + "/machines/prior.json"


class Prior(Case):
    def database(self):
        os.makedirs(self.path("db/machines"))
        shutil.copy(PRIOR, self.path("db/machines"))
        return self.path("db")

    def ask(self, server, processor, cpus, query="", **more):
        body = {"metrics": ["bpf_cpu_time_ms"], "output_type": "AbsPower", "source": "acpi",
                "weight": True, "machine_spec": {"processor": processor, "cores": cpus}, **more}
        return call(server, "POST", "/model" + query, body)

    def test_a_server_answers_for_a_processor_that_nobody_measured(self):
        server = self.start_http("tw-server", "--model-db", self.database())
        answers = {}
        for cpus in (4, 8, 128):
            reply = self.ask(server, "amd_epyc_7713", cpus)
            self.assertEqual(reply.status, 200)
            weights = reply.json()["platform"]["All_Weights"]
            number = weights["Numerical_Variables"]["bpf_cpu_time_ms"]
            self.assertEqual(number["scale"], 1000 * cpus)
            self.assertGreater(weights["Bias_Weight"], 0)
            self.assertGreater(number["weight"], 0)
            answers[cpus] = weights["Bias_Weight"], number["weight"]
        # An EPYC 7713 has 128 threads: 32 machines of 4 CPUs have the power of a chip.
        for whole, part in zip(answers[128], answers[4]):
            self.assertAlmostEqual(32 * part, whole, delta=1e-6 * whole)

    def test_an_explanation_names_the_prior(self):
        server = self.start_http("tw-server", "--model-db", self.database())
        chosen = self.ask(server, "amd_epyc_7713", 8, "?explain=1").json()["chosen"]
        self.assertEqual(chosen["match"], "prior")
        self.assertGreater(chosen["mape"], 0)
        self.assertGreater(min(chosen["prior"]["platform_interval_widths"]), 0)

    def test_a_zip_can_be_read(self):
        server = self.start_http("tw-server", "--model-db", self.database())
        reply = self.ask(server, "intel_xeon_gold_6140", 8, weight=False)
        self.assertEqual(reply.status, 200)
        self.assertEqual(reply.body[:4], b"PK\x03\x04")

    def test_a_trainer_that_is_named_gets_no_prior(self):
        server = self.start_http("tw-server", "--model-db", self.database())
        for more in ({"trainer_name": "LinearRegressionTrainer"},
                     {"trainer_name": "SGDRegressorTrainer", "weight": False}):
            reply = self.ask(server, "amd_epyc_7713", 8, **more)
            self.assertEqual(reply.status, 404, more)

    def test_kepler_s_default_name_means_linear_weights(self):
        server = self.start_http("tw-server", "--model-db", self.database())
        any_name, default = (self.ask(server, "amd_epyc_7713", 8, trainer_name=name).json()
                             for name in ("", "SGDRegressorTrainer"))
        self.assertEqual(any_name["platform"], default["platform"])

    def post(self, server, query="", **body):
        return call(server, "POST", "/model" + query, {
            "metrics": ["bpf_cpu_time_ms"], "output_type": "AbsPower", "source": "acpi",
            "weight": True, **body})

    def test_a_machine_without_a_known_processor_is_a_typical_one(self):
        """Also one with the counts of a measured machine."""
        server = self.start_http("tw-server", "--model-db", SHIPPED)
        for spec in ({"cores": 8}, {"cores": 32, "chips": 2}, {"cores": 32},
                     {"processor": "riscv_of_nobody", "cores": 8, "memory": 16}):
            found = self.post(server, "?explain=1", machine_spec=spec).json()["chosen"]
            self.assertEqual((found["match"], found["prior"]["prior_view"]),
                             ("prior", "typical"), spec)
            self.assertGreater(found["mape"], 30)
            weights = self.post(server, machine_spec=spec).json()["platform"]["All_Weights"]
            full = weights["Bias_Weight"] + \
                weights["Numerical_Variables"]["bpf_cpu_time_ms"]["weight"]
            # A CPU draws between 1 and 20 W at full load.
            self.assertTrue(1 < full / spec["cores"] < 20, (spec, full))
            self.assertGreater(found["prior"]["platform_interval_widths"][-1], full)

    def test_a_client_that_sends_no_spec_gets_the_default_machine(self):
        """As Kepler 0.6 and 0.7.11 ask."""
        server = self.start_http("tw-server", "--model-db", SHIPPED, "--default-machine",
                                 "processor=amd_epyc_7713,cores=256,chips=2,memory=512")
        named = self.ask(server, "amd_epyc_7713", 256, machine_spec={
            "processor": "amd_epyc_7713", "cores": 256, "chips": 2, "memory": 512}).json()
        for trainer in ("", "SGDRegressorTrainer"):
            old = self.post(server, node_type=1, trainer_name=trainer, filter="").json()
            self.assertEqual(old, {"platform": named["platform"]})
        chosen = self.post(server, "?explain=1", node_type=1,
                           model_classes=["linear"]).json()
        self.assertNotEqual((chosen["chosen"] or {}).get("match"), "prior")

    def test_a_machine_of_unknown_size_is_refused(self):
        server = self.start_http("tw-server", "--model-db", SHIPPED)
        for spec in ({"processor": "amd_epyc_7713"}, {"memory": 64}, {},
                     {"processor": "", "cores": 0}):
            reply = self.post(server, machine_spec=spec)
            self.assertEqual(reply.status, 404, spec)
            self.assertIn("machine_spec.cores", reply.body.decode())
            told = self.post(server, "?explain=1", machine_spec=spec).json()
            self.assertIsNone(told["chosen"])
            self.assertIn("machine_spec.cores", told["error"])
            # Who asks for a model by name gets it.
            self.assertEqual(self.post(server, machine_spec=spec,
                                       pipeline_name="haswell-kind").status, 200)

    def test_a_client_that_reads_no_prior_gets_no_model_of_another_machine(self):
        server = self.start_http("tw-server", "--model-db", SHIPPED)
        reply = self.post(server, machine_spec={"cores": 8},
                          metrics=["cpu_cycles", "cpu_instructions", "cache_miss"])
        self.assertEqual(reply.status, 404)
        self.assertIn("needs CPU time", reply.body.decode())

    def test_a_client_that_does_not_describe_its_machine_gets_any_model(self):
        server = self.start_http("tw-server", "--model-db", SHIPPED)
        for more in ({}, {"machine_spec": None}):
            self.assertEqual(self.post(server, **more).json()["machine_spec"]["cores"], 32)

    def collect(self, *args):
        return self.start_http("tw-collector", "--interval", "100ms", "--bpf", "off", "--user",
                               "root", *args, *(["--filter=no"] if sanitized() else []))

    def check_prior(self, collector):
        def watts():
            text = call(collector, "GET", "/metrics").body.decode()
            found = re.search(r'tallywatt_node_power_watts\{zone="platform".*\} (\S+)', text)
            return text if found and float(found[1]) > 0 else None

        try:
            with open("/proc/cpuinfo", encoding="ascii") as f:
                known = re.search("AMD|Intel", f.read())
        except OSError:
            known = None
        if known is None:
            self.skipTest("this machine's processor is of no vendor that the prior knows")
        wait_until(watts, "watts of the prior")
        self.assertRegex(call(collector, "GET", "/metrics").body.decode(),
                         r'from="prior of \w+')

    def test_a_machine_with_only_a_database_shows_watts_of_the_prior(self):
        self.check_prior(self.collect("--model-db", self.database(), "--shipped-models", ""))

    def test_a_machine_with_nothing_but_what_ships_shows_watts_of_the_prior(self):
        self.check_prior(self.collect("--shipped-models", self.database()))

    def test_what_ships_is_not_used_beside_a_meter(self):
        rapl = self.path("sys/class/powercap/intel-rapl:0")
        os.makedirs(rapl)
        for name, text in (("name", "package-0"), ("energy_uj", "5"),
                           ("max_energy_range_uj", "262143328850")):
            with open(os.path.join(rapl, name), "w", encoding="ascii") as f:
                f.write(text + "\n")
        collector = self.collect("--shipped-models", self.database(), "--sys",
                                 self.path("sys"))
        self.assertEqual(children(collector.proc.pid), [])
        self.assertNotIn("tallywatt_model_info{",
                         call(collector, "GET", "/metrics").body.decode())

    def test_a_broken_prior_is_left_out(self):
        os.makedirs(self.path("db/machines"))
        self.write("db/machines/prior.json", b'{"prior":2}')
        server = self.start_http("tw-server", "--model-db", self.path("db"))
        self.assertEqual(self.ask(server, "amd_epyc_7713", 8).status, 503)
        self.assertIn("prior", server.log())


if __name__ == "__main__":
    unittest.main(verbosity=2)
