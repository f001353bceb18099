# SPDX-License-Identifier: Apache-2.0
"""CPU time and energy of the extracted rows are those of the machine, within 1 %."""
import json
import os
import random
import unittest

from harness import Case, run_tallywatt
import simulated_exporters as simulated

LENGTH_S = 600.0


def services(rng):
    """What always runs: a load that changes every 20 s, and one that rarely does."""
    processes = [simulated.Process(1, "init", 0.0, LENGTH_S + 60, 0.02)]
    for i in range(int(LENGTH_S / 20)):
        processes.append(simulated.Process(
            100 + i, "batch", 20.0 * i + rng.random(), 20.0 * i + 14 + 5 * rng.random(),
            0.2 + 0.7 * rng.random()))
    return processes


def storm(rng):
    """12,000 processes of 10 to 150 ms."""
    return [simulated.Process(10000 + i, "sh", t, t + 0.01 + 0.14 * rng.random(), 0.95)
            for i, t in enumerate(sorted(LENGTH_S * rng.random() for _ in range(12000)))]


def short_containers(rng):
    """Containers of 2 s, one after the other."""
    return [simulated.Process(2000 + i, "job", t, t + 2.0, 1.0, f"c{i}")
            for i, t in enumerate(3.1 * i + 0.5 * rng.random() for i in range(190))]


def steady(rng):
    return [simulated.Process(300, "steady", 0.0, LENGTH_S + 60, 0.5 + rng.random())]


class MassBalance(Case):
    def extract(self, exporter, recording, *more):
        export, group, _ = simulated.EXPORTERS[exporter]
        path = self.write(f"{exporter}.json", export(recording))
        text = self.tallywatt("extract", "--input", path, "--group", group, *more)
        head, *rows = (line.split(",") for line in text.splitlines())
        return [{name: float(v) for name, v in zip(head, row)} for row in rows]

    def account(self, exporter, recording, rows):
        """CPU seconds and joules of the rows, and of the machine in their time."""
        by_tick = simulated.EXPORTERS[exporter][2]
        ticks = list(recording.ticks(by_tick))
        before, cpu_s, energy_j = ticks[0][0], 0.0, 0.0
        for row in rows:
            length_s = row["timestamp"] - before
            before = row["timestamp"]
            cpu_s += length_s * sum(
                v for name, v in row.items()
                if name.endswith("_ms")) / 1000
            energy_j += length_s * row["package_power"]
        first, last = ticks[0][1], ticks[-1][1]
        machine = recording.machine
        return ((cpu_s, machine.cpu_s(last) - machine.cpu_s(first)),
                (energy_j, machine.energy_j(last) - machine.energy_j(first)))

    def balance(self, what, exporter, recording, *more):
        rows = self.extract(exporter, recording, *more)
        cpu, energy = self.account(exporter, recording, rows)
        print(f"{what}, {exporter}: {len(rows)} rows, CPU time {100 * cpu[0] / cpu[1]:.2f} %,"
              f" energy {100 * energy[0] / energy[1]:.2f} %")
        self.assertAlmostEqual(cpu[0] / cpu[1], 1.0, delta=0.01, msg=(what, exporter))
        self.assertAlmostEqual(energy[0] / energy[1], 1.0, delta=0.01, msg=(what, exporter))
        return rows

    def plausible(self, recording, rows):
        """No row beyond what the machine can use and draw."""
        watts = recording.machine.watts
        for row in rows:
            busy = sum(v for name, v in row.items() if name.endswith("_ms")) / 1000
            self.assertLess(busy, 1.01 * simulated.CPUS, row)
            self.assertLess(row["package_power"], 1.05 * max(watts), row)
            self.assertGreater(row["package_power"], 0.95 * min(watts), row)

    def each(self, what, processes, more=(), **recording):
        for exporter in simulated.EXPORTERS:
            rng = random.Random(7)
            machine = simulated.Machine(services(rng) + processes(rng), LENGTH_S)
            it = simulated.Recording(machine, **recording)
            self.plausible(it, self.balance(what, exporter, it, *more))

    def test_a_fork_storm_loses_no_processor_time(self):
        self.each("fork storm", storm)

    def test_containers_of_two_seconds_count_whole(self):
        self.each("containers of 2 s", short_containers)

    def test_a_late_scrape_makes_no_impossible_row(self):
        self.each("late scrapes", steady, late={40: 2.4, 80: 5.0, 120: 8.3})

    def test_a_restart_of_the_exporter_is_neither_lost_nor_counted_twice(self):
        self.each("restart", steady, ("--resets", "carry"), restart=301.5)
        self.each("restart", steady, restart=301.5)

    def test_a_restart_is_refused_on_request(self):
        machine = simulated.Machine(services(random.Random(7)), LENGTH_S)
        path = self.write("r.json", simulated.kepler_legacy(
            simulated.Recording(machine, restart=301.5)))
        self.assertIn("--resets drop leaves that step out", self.refused(
            "extract", "--input", path, "--group", "BPFOnly", "--resets", "refuse", codes=(1,)))


class Quality(Case):
    def setUp(self):
        super().setUp()
        rng = random.Random(7)
        machine = simulated.Machine(services(rng) + storm(rng), LENGTH_S)
        self.response = json.loads(simulated.tallywatt(simulated.Recording(machine)))

    def save(self):
        return self.write("quality.json", json.dumps(self.response))

    def told(self, *args):
        done = run_tallywatt(*args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr.decode()

    def test_rows_that_balance_are_reported_without_a_warning_of_it(self):
        text = self.told("extract", "--input", self.save(), "--group", "BPFOnly")
        print(text)
        share = float(text.split("CPU time: ")[1].split("(")[1].split(" %")[0])
        self.assertLess(abs(share - 100), 1)
        self.assertNotIn("of the node's CPU time", text)
        self.assertNotIn("of the meter's energy", text)

    def test_processor_time_that_the_exporter_loses_is_named(self):
        metric = "tallywatt_process_cpu_seconds_total"
        self.response[metric] = [s for s in self.response[metric] if len(s["values"]) > 2]
        text = self.told("extract", "--input", self.save(), "--group", "BPFOnly")
        self.assertRegex(text, "warning: the rows have [0-9.]* % of the node's CPU time: "
                               "processes that end between two scrapes")
        text = self.told("train", "--input", self.save(), "--name", "p", "--group", "BPFOnly",
                         "--trainers", "LinearRegressionTrainer", "--model-db", self.path("db"))
        self.assertIn("its recording has other CPU time than the node's total; record again", text)

    def test_a_total_of_a_part_of_the_time_is_compared_with_that_part(self):
        metric = "tallywatt_node_cpu_seconds_total"
        for series in self.response[metric]:
            series["values"] = series["values"][len(series["values"]) // 2:]
        text = self.told("train", "--input", self.save(), "--name", "p", "--group", "BPFOnly",
                         "--trainers", "LinearRegressionTrainer", "--model-db", self.path("db"))
        self.assertNotIn("of the node's CPU time", text)
        self.assertNotIn("its recording has other CPU time", text)

    def test_metadata_card_and_validation_have_the_report(self):
        path = self.save()
        text = self.told("train", "--input", path, "--name", "p", "--group", "BPFOnly",
                         "--abs-trainers", "LinearRegressionTrainer", "--dyn-trainers",
                         "", "--model-db", self.path("db"))
        self.assertIn("data quality: ", text)
        model = self.path("db", "p", "rapl-sysfs", "AbsPower", "BPFOnly",
                          "LinearRegressionTrainer_0")
        with open(os.path.join(model, "details.json")) as f:
            quality, = json.load(f)["data_quality"]
        self.assertAlmostEqual(quality["cpu_time_rows_s"] / quality["cpu_time_node_s"],
                               1.0, delta=0.01)
        self.assertAlmostEqual(quality["energy_rows_j"] / quality["energy_meter_j"],
                               1.0, delta=0.01)
        self.assertGreater(quality["series_of_one_sample"], 10000)
        text = self.told("validate", "--model", model, "--input", path)
        self.assertIn("data quality: ", text)


if __name__ == "__main__":
    unittest.main()
