# SPDX-License-Identifier: Apache-2.0
"""tw-estimator: power requests over its sockets, as Kepler sends them and as nobody should."""
import json
import os
import shutil
import signal
import tempfile
import threading
import unittest

from harness import (COUNTER_ONLY, TIMEOUT_S, Case, ask_estimator, dial, linear_watts,
                     power_request, read_json, train_generated, wait_until)
from sources import free_port
import generate_response as generator

TRAINER = "SGDRegressorTrainer"
# Answers have 3 decimals.
ROUNDING_W = 0.0006


def rows_of(machine, count):
    return [[rates[f] for f in COUNTER_ONLY] for rates in machine.rates[:count]]


class Estimator(Case):
    @classmethod
    def setUpClass(cls):
        cls.db = tempfile.mkdtemp(prefix="tw-db-")
        cls.addClassCleanup(shutil.rmtree, cls.db)
        train_generated(cls.db)
        cls.machine = generator.Machine()

    def setUp(self):
        super().setUp()
        self.sockets = [self.path("estimator.socket"), self.path("estimator.sock")]
        self.estimator = self.start_estimator("--model-db", self.db)

    def start_estimator(self, *args):
        return self.start("tw-estimator", "--socket", ",".join(self.sockets), *args)

    def weights(self, output="AbsPower", trainer=TRAINER):
        return read_json(os.path.join(self.db, "simulated/rapl-sysfs", output, "CounterOnly",
                                      f"{trainer}_0.json"))

    def check_answer(self, answer, rows, output="AbsPower"):
        """Powers must be what the weights' formula gives, one entry a row."""
        weights = self.weights(output)
        self.assertTrue({"powers", "msg", "core_ratio"} <= set(answer), answer)
        for component in ("package", "dram"):
            powers = answer["powers"][component]
            self.assertEqual(len(powers), len(rows))
            for row, watts in zip(rows, powers):
                wanted = linear_watts(weights[component], dict(zip(COUNTER_ONLY, row)))
                self.assertLess(abs(watts - wanted), ROUNDING_W)
        self.assertNotIn("uncore", answer["powers"])

    def ask(self, rows, path=None, pieces=1, **more):
        return ask_estimator(path or self.sockets[0], power_request(
            COUNTER_ONLY, rows, trainer_name=TRAINER, **more), pieces)

    # ---- what must work --------------------------------------------------------

    def test_both_sockets_answer_with_the_weights_watts(self):
        rows = rows_of(self.machine, 20)
        for path in self.sockets:
            self.check_answer(self.ask(rows, path), rows)

    def test_watts_are_near_the_law(self):
        rows = rows_of(self.machine, 50)
        powers = self.ask(rows)["powers"]
        for i, watts in enumerate(self.machine.watts[:50]):
            for component in ("package", "dram"):
                self.assertLess(abs(powers[component][i] - watts[component]), 1.0)

    def test_an_absurd_row_takes_no_watts_from_the_others(self):
        rows = rows_of(self.machine, 5)
        for absurd in (1e300, -1):
            with self.subTest(absurd):
                answer = self.ask(rows[:2] + [[absurd] * len(COUNTER_ONLY)] + rows[2:])
                for watts in answer["powers"].values():
                    self.assertIsNone(watts.pop(2))
                # A component of null is not one of zeros only.
                answer["powers"] = {c: w for c, w in answer["powers"].items() if any(w)}
                self.check_answer(answer, rows)

    def test_dynamic_power_and_idle_request(self):
        rows = rows_of(self.machine, 5)
        self.check_answer(self.ask(rows, output_type="DynPower"), rows, "DynPower")
        zeros = [[0.0] * len(COUNTER_ONLY)] * 5
        answer = self.ask(zeros)
        self.check_answer(answer, zeros)
        self.assertEqual(len(set(answer["powers"]["package"])), 1)

    def test_zero_rows_keep_the_main_component(self):
        # Kepler 0.7.12 reads entry 0 of the idle power of its processes.
        zeros = [[0.0] * len(COUNTER_ONLY)] * 5
        powers = self.ask(zeros, output_type="DynPower")["powers"]
        self.assertEqual(powers, {"package": [0] * 5})

    def test_features_may_have_their_old_names(self):
        rows = rows_of(self.machine, 3)
        old = ["cpu_instr" if f == "cpu_instructions" else f for f in COUNTER_ONLY]
        self.check_answer(ask_estimator(self.sockets[0], power_request(
            old, rows, trainer_name=TRAINER)), rows)

    def ask_as_0_5_3(self, output, rows):
        """As estimator/sidecar/estimate.go of Kepler 0.5.3, read as its types demand."""
        answer = ask_estimator(self.sockets[1], {
            "metrics": COUNTER_ONLY, "values": rows, "output_type": output,
            "system_features": ["cpu_architecture"], "system_values": ["Skylake"],
            "model_name": "", "filter": ""})
        self.assertEqual(set(answer), {"powers", "msg"})
        self.assertEqual(answer["msg"], "")
        return answer["powers"]

    def test_all_output_types_of_kepler_0_5_3_are_answered(self):
        rows = [*rows_of(self.machine, 5), [0, 0, 0]]
        for output in ("AbsPower", "DynPower"):
            now = ask_estimator(self.sockets[0], power_request(
                COUNTER_ONLY, rows, output_type=output))["powers"]
            zeros = [0] * len(rows)
            want = [p + d for p, d in zip(now["package"], now.get("dram", zeros))]
            kind = output[:3]
            for old in (output, f"{kind}ModelWeight"):
                powers = self.ask_as_0_5_3(old, rows)
                self.assertEqual(len(powers), len(rows))
                for got, watts in zip(powers, want):
                    self.assertLess(abs(got - watts), 3 * ROUNDING_W)
            for old in (f"{kind}ComponentPower", f"{kind}ComponentModelWeight"):
                powers = self.ask_as_0_5_3(old, rows)
                self.assertEqual(powers.pop("pkg"), now["package"])
                self.assertEqual(powers, {c: w for c, w in now.items() if c != "package"})

    def test_the_order_of_metrics_is_the_clients(self):
        rows = rows_of(self.machine, 3)
        turned = ask_estimator(self.sockets[0], power_request(
            COUNTER_ONLY[::-1] + ["cpu_architecture"], [r[::-1] + [0.0] for r in rows],
            trainer_name=TRAINER))
        self.assertEqual(turned["powers"], self.ask(rows)["powers"])

    def test_a_request_may_come_byte_by_byte(self):
        rows = rows_of(self.machine, 2)
        self.check_answer(self.ask(rows, pieces=1 << 30), rows)

    def test_several_requests_on_one_connection_are_answered_in_order(self):
        rows = rows_of(self.machine, 10)
        with dial(self.sockets[0]) as s:
            s.sendall(b"\n".join(json.dumps(power_request(
                COUNTER_ONLY, [row], trainer_name=TRAINER)).encode() for row in rows))
            text, decoder, answers = "", json.JSONDecoder(), []
            while len(answers) < len(rows):
                text = text.lstrip()
                try:
                    answer, end = decoder.raw_decode(text)
                    answers.append(answer)
                    text = text[end:]
                except json.JSONDecodeError:
                    more = s.recv(4096).decode()
                    self.assertTrue(more, "closed before all answers")
                    text += more
        for row, answer in zip(rows, answers):
            self.check_answer(answer, [row])

    def test_core_ratio_is_the_same_in_every_answer(self):
        rows = rows_of(self.machine, 1)
        ratios = {self.ask(rows)["core_ratio"] for _ in range(5)}
        self.assertEqual(len(ratios), 1)

    def test_thousands_of_rows_in_one_request(self):
        rows = rows_of(self.machine, 99) * 50
        with dial(self.sockets[0]) as s:
            data = json.dumps(power_request(COUNTER_ONLY, rows,
                                            trainer_name=TRAINER)).encode()
            sender = threading.Thread(target=s.sendall, args=(data,))
            sender.start()
            text, answer = b"", None
            while answer is None:
                more = s.recv(65536)
                self.assertTrue(more)
                text += more
                try:
                    answer = json.loads(text)
                except json.JSONDecodeError:
                    continue
            sender.join()
        self.check_answer(answer, rows)

    def test_the_command_prints_the_same_from_a_model_and_the_socket(self):
        rows = rows_of(self.machine, 4)
        args = ("--metrics", ",".join(COUNTER_ONLY), "--values",
                ";".join(",".join(repr(v) for v in row) for row in rows))
        model = os.path.join(self.db, "simulated/rapl-sysfs/AbsPower/CounterOnly",
                             f"{TRAINER}_0")
        wanted = self.ask(rows)["powers"]["package"]
        for source in (("--model", model), ("--model", f"{model}.zip"),
                       ("--socket", self.sockets[0], "--trainer", TRAINER)):
            text = self.tallywatt("estimate", *source, *args)
            head, *lines = [line.split() for line in text.splitlines()]
            place = head.index("package")
            self.assertEqual(len(lines), len(rows))
            for line, watts in zip(lines, wanted):
                self.assertLess(abs(float(line[place]) - watts), ROUNDING_W)

    # ---- what must disturb nobody ----------------------------------------------

    def connect(self):
        s = dial(self.sockets[0])
        self.addCleanup(s.close)
        return s

    def test_clients_that_leave_stall_or_send_rubbish(self):
        rows = rows_of(self.machine, 2)
        whole = json.dumps(power_request(COUNTER_ONLY, rows)).encode()
        for data in (b"", b" ", b"{", whole[:-5], b"[]", b"watts", b"\xff\xfe\0", b"}",
                     b"[" * 100000, whole.replace(b"rapl-sysfs", b"\xff"), b'"}"'):
            with self.subTest(data=data[:30]):
                s = self.connect()
                try:
                    s.sendall(data)
                except BrokenPipeError:
                    pass
                s.close()
                self.check_answer(self.ask(rows), rows)
        stalled = [self.connect() for _ in range(100)]
        for s in stalled:
            s.sendall(whole[:20])
        self.check_answer(self.ask(rows), rows)

    def test_no_prediction_closes_without_an_answer(self):
        rows = rows_of(self.machine, 2)
        for request in (power_request(["unheard_of"], [[1.0], [2.0]]),
                        power_request(COUNTER_ONLY, rows, source="redfish"),
                        power_request(COUNTER_ONLY, rows, output_type="Moon"),
                        power_request(COUNTER_ONLY, [[1.0]]),
                        power_request(COUNTER_ONLY, [["a", "b", "c"]]),
                        power_request(COUNTER_ONLY, rows, trainer_name="NoSuchTrainer"),
                        {"metrics": 7}, {}):
            with self.subTest(request=str(request)[:80]):
                answer = ask_estimator(self.sockets[0], request)
                self.assertTrue(answer is None or answer["powers"] == {}, answer)
        self.check_answer(self.ask(rows), rows)

    def test_two_hundred_clients_at_once(self):
        rows = rows_of(self.machine, 3)
        wrong = []

        def client():
            try:
                self.check_answer(self.ask(rows), rows)
            except Exception as e:  # noqa: BLE001 - told to the test's own thread
                wrong.append(e)

        clients = [threading.Thread(target=client) for _ in range(200)]
        for c in clients:
            c.start()
        for c in clients:
            c.join()
        self.assertEqual(wrong, [])

    # ---- where its models come from --------------------------------------------

    def test_models_come_from_the_server_and_outlive_it(self):
        server = self.start_http("tw-server", "--model-db", self.db)
        self.estimator.stop()
        self.start_estimator("--model-server", f"http://{server.address}", "--model-db",
                             self.path("empty"))
        rows = rows_of(self.machine, 4)
        wait_until(lambda: self.answers(rows), "the estimator has the server's model")
        self.check_answer(self.ask(rows), rows)
        server.stop()
        self.check_answer(self.ask(rows), rows)

    def test_without_a_server_the_local_database_answers(self):
        self.estimator.stop()
        self.start_estimator("--model-server", f"http://127.0.0.1:{free_port()}", "--model-db",
                             self.db)
        rows = rows_of(self.machine, 4)
        wait_until(lambda: self.answers(rows), "the estimator falls back to its database")
        self.check_answer(self.ask(rows), rows)

    def answers(self, rows):
        answer = self.ask(rows)
        return answer is not None and "package" in answer["powers"]

    def test_sockets_are_gone_after_a_stop_and_taken_over_after_a_crash(self):
        self.estimator.stop(signal.SIGKILL)
        again = self.start_estimator("--model-db", self.db)
        rows = rows_of(self.machine, 1)
        self.check_answer(self.ask(rows), rows)
        again.stop()
        self.assertEqual([p for p in self.sockets if os.path.exists(p)], [])


if __name__ == "__main__":
    unittest.main()
