# SPDX-License-Identifier: Apache-2.0
"""A client that computes power as Kepler does, release by release.

Kepler estimates power in two ways. A *regressor* asks the model server once for weights and
computes with them (pkg/model/estimator/local). A *sidecar* sends each sample to the
estimator's socket (pkg/model/estimator/sidecar). Both have two uses: the power of the node
(AbsPower; idle power is that of a row of zeros) and the power of each process (DynPower).

The client repeats what Kepler 0.5.3, 0.6, 0.7.11, 0.7.12 and 0.9 do with an answer, faults
included: strict types, unsigned conversion of negative watts, unchecked indices. 0.8 is like
0.9. The client raises Panic where Kepler crashes.

Loads are rates a second of the features in docs/wire.md.
"""
import http.client
import io
import json
import math
import random
import socket
import zipfile

# Outcomes of a case, the worst first.
PANIC, WRAP, ZERO, IDLE, UNREAD, REFUSED, OK = OUTCOMES = (
    "PANIC", "WRAP", "ZERO", "IDLE", "UNREAD", "refused", "ok")

NODE, PROCESS = "node", "process"
OUTPUT = {NODE: "AbsPower", PROCESS: "DynPower"}
COMPONENTS, PLATFORM = "intel_rapl", "acpi"  # the two sources that Kepler asks for
UINT64 = 1 << 64
WRAP_MW = 10 ** 12  # more than 1e9 W was a negative number
IDLE_MW = 100  # limit for all idle containers together
SAMPLE_S = 3  # Kepler's sampling period
ARCHITECTURE = ("cpu_architecture", "Skylake")
TIMEOUT_S = 300
READ_BYTES = 4096


class Panic(Exception):
    """Kepler crashes."""


class Refused(Exception):
    """There is no model. A regressor falls back to the weights in Kepler's image. A sidecar
    for processes has no fallback: UpdateProcessEnergy() uses the nil model and crashes."""


class Unread(Exception):
    """The answer does not fit the client's types: Kepler drops all of it."""


# ---- Go's types ------------------------------------------------------------

def to_uint64(x):
    """uint64(x) of a float on amd64: a negative number becomes a huge number."""
    if math.isnan(x) or math.isinf(x) or abs(x) >= UINT64:
        return 1 << 63
    return int(x) % UINT64


def divide(x, y):
    """Go's division of floats: no error, but NaN or infinity."""
    if y:
        return x / y
    return math.nan if x == 0 or math.isnan(x) else math.copysign(math.inf, x)


def need(value, kinds, what):
    """json.Unmarshal into a typed field: null leaves the field unchanged."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, kinds)):
        raise Unread(f"{what} is {value!r}")
    return value


def need_float(value, what):
    return float(need(value, (int, float), what) or 0)


def need_object(value, what):
    return need(value, dict, what) or {}


# ---- weights ---------------------------------------------------------------

class Weights:
    """All_Weights of one component."""

    def __init__(self, part, what):
        w = need_object(need_object(part, what).get("All_Weights"), what)
        self.bias = need_float(w.get("Bias_Weight"), "Bias_Weight")
        for values in need_object(w.get("Categorical_Variables"), "Categorical").values():
            for value in need_object(values, "a category").values():
                need_float(need_object(value, "a category").get("weight"), "weight")
        self.categorical = w.get("Categorical_Variables") or {}
        self.numerical = {
            name: {key: need_float(need_object(v, name).get(key), key)
                   for key in ("scale", "mean", "variance", "weight")}
            for name, v in need_object(w.get("Numerical_Variables"), "Numerical").items()}
        curve = need(w.get("CurveFit_Weights"), list, "CurveFit_Weights") or []
        self.curve = [need_float(v, "CurveFit_Weights") for v in curve]

    def base(self, architecture):
        name, value = architecture
        part = (self.categorical.get(name) or {}).get(value) or {}
        return part.get("weight") or 0.0


def linear_watts(weights, names, row, base, scaled):
    """`scaled` normalises a value, which differs between releases."""
    watts = weights.bias + base
    for name, value in zip(names, row):
        v = weights.numerical.get(name)
        if v and v["weight"]:
            watts += v["weight"] * scaled(v, value)
    return watts


def by_variance(v, value):
    return divide(value - v["mean"], math.sqrt(v["variance"]) if v["variance"] > 0 else 0.0)


def by_scale(v, value):
    return divide(value, v["scale"])


def by_scale_or_0(v, value):
    return value / v["scale"] if v["scale"] else 0.0


def exponential(w, x):
    return w[0] * math.exp(w[1] * x) + w[2]


def logarithmic(w, x):
    return w[0] * math.log(w[1] * x + 1) + w[2]


def logistic(w, x):
    return w[0] / (1 + math.exp(-w[2] * (x - w[1]))) + w[3]


CURVES = {"ExponentialRegressionTrainer": (3, exponential),
          "LogarithmicRegressionTrainer": (3, logarithmic),
          "LogisticRegressionTrainer": (4, logistic)}
LINEAR = "SGDRegressorTrainer"


class Predictor:
    """createPredictor(): the trainer's name selects the formula."""

    def __init__(self, weights, trainer):
        count, self.curve = CURVES.get(trainer, (0, None))
        if len(weights.curve) != count:
            raise ValueError(f"{len(weights.curve)} curve weights for '{trainer}'")
        self.weights = weights

    def watts(self, names, row):
        base = self.weights.base(ARCHITECTURE)
        if self.curve is None:
            return linear_watts(self.weights, names, row, base, by_scale_or_0)
        if not names:
            raise Panic("index 0 of no features")
        # The first feature is x, whichever feature the curve was fitted to.
        v = self.weights.numerical.get(names[0])
        try:
            return base + self.curve(self.weights.curve,
                                     by_scale_or_0(v, row[0]) if v else 0.0)
        except (OverflowError, ValueError):  # Go has Inf and NaN
            return math.inf


class OldPredictor:
    """Before 0.7.4 all weights are linear, and curve weights are not read."""

    def __init__(self, weights, scaled):
        self.weights, self.scaled = weights, scaled

    def watts(self, names, row):
        return linear_watts(self.weights, names, row, self.weights.base(ARCHITECTURE),
                            self.scaled)


# ---- releases --------------------------------------------------------------

SOFTWARE = ["bpf_cpu_time_ms", "bpf_net_tx_irq", "bpf_net_rx_irq", "bpf_block_irq",
            "bpf_page_cache_hit"]
HARDWARE = ["cpu_cycles", "cpu_instructions", "cache_miss"]
CGROUP = ["cgroupfs_memory_usage_bytes", "cgroupfs_kernel_memory_usage_bytes",
          "cgroupfs_tcp_memory_usage_bytes", "cgroupfs_cpu_usage_us",
          "cgroupfs_system_cpu_usage_us", "cgroupfs_user_cpu_usage_us",
          "cgroupfs_ioread_bytes", "cgroupfs_iowrite_bytes", "block_devices_used"]
KUBELET = ["kubelet_memory_bytes", "kubelet_cpu_usage"]
# A metric's name in old releases -> the feature and what its value is multiplied by.
OLD_NAMES = {"cpu_time": ("bpf_cpu_time_ms", 1), "bpf_cpu_time_us": ("bpf_cpu_time_ms", 1),
             "cpu_instr": ("cpu_instructions", 1), "irq_net_tx": ("bpf_net_tx_irq", 1),
             "irq_net_rx": ("bpf_net_rx_irq", 1), "irq_block": ("bpf_block_irq", 1),
             "cgroupfs_cpu_usage_us": ("bpf_cpu_time_ms", 1000),
             "cgroupfs_user_cpu_usage_us": ("bpf_cpu_time_ms", 900),
             "cgroupfs_system_cpu_usage_us": ("bpf_cpu_time_ms", 100),
             "kubelet_cpu_usage": ("bpf_cpu_time_ms", 1)}


class Release:
    """The behaviour of a release. `counters` is false where perf events cannot be opened, as
    in most virtual machines. Only 0.7.10 to 0.7.12 list the counters that were opened: the
    releases before make their list before that (InitAvailableParamAndMetrics(), Attach())."""
    name = ""
    zero_idle_is_zero = True  # calcDynEnergy(): without idle power there is no dynamic power
    core_ratio = False
    ref_cycles = 0  # cpu_ref_cycles for each cpu_cycles
    component_names = {"pkg": "package", "core": "core", "uncore": "uncore", "dram": "dram"}

    def metrics(self, counters, rng):
        raise NotImplementedError

    def shuffled_hardware(self, names, rng):
        """The order of a Go map's keys changes with each start."""
        return rng.sample(names, len(names))

    def value(self, metric, load):
        """A metric's rate, from a whole number of events in a sampling period."""
        if metric == "cpu_ref_cycles":
            feature, factor = "cpu_cycles", self.ref_cycles
        else:
            feature, factor = OLD_NAMES.get(metric, (metric, 1))
        return math.floor(load.get(feature, 0.0) * factor * SAMPLE_S) / SAMPLE_S

    def row(self, metrics, load):
        return [self.value(metric, load) for metric in metrics]

    # The trainer's name if the user names none.
    regressor_trainer = sidecar_trainer = ""

    def request(self, metrics, use, source, trainer, filter_, spec):
        return {"metrics": [*metrics, ARCHITECTURE[0]], "output_type": OUTPUT[use],
                "source": source, "node_type": 1, "weight": True, "trainer_name": trainer,
                "filter": filter_}

    def predictors(self, answer, trainer):
        """Component -> predictor, from the answer's JSON."""
        raise NotImplementedError

    def ratio_of(self, answer, spec):
        """The factor of idle power."""
        return 1.0


class Release053(Release):
    """Weights are a map of components, or bare. Rows are sums over a sampling period. This
    release has no idle request; the client adds one, to see whether power rises with load."""
    name = "0.5.3"
    component_names = {"pkg": "pkg", "core": "core", "uncore": "uncore", "dram": "dram"}

    def metrics(self, counters, rng):
        return ["cpu_time", "irq_net_tx", "irq_net_rx", "irq_block",
                *self.shuffled_hardware(["cpu_cycles", "cpu_ref_cycles", "cpu_instr",
                                         "cache_miss"], rng),
                *CGROUP, "block_devices_used"]

    def value(self, metric, load):
        return math.floor(super().value(metric, load) * SAMPLE_S)

    def request(self, metrics, use, source, trainer, filter_, spec):
        kind = "ComponentModelWeight" if source == COMPONENTS else "ModelWeight"
        return {"model_name": trainer, "metrics": [*metrics, ARCHITECTURE[0]],
                "filter": filter_, "output_type": OUTPUT[use][:3] + kind}

    def predictors(self, answer, trainer):
        if "All_Weights" in answer:
            answer = {"platform": answer}
        return {name: OldPredictor(Weights(part, name), by_variance)
                for name, part in answer.items()}


class Release06(Release):
    """Lists block_devices_used twice: among the cgroup metrics, and at the end."""
    name = "0.6"

    def metrics(self, counters, rng):
        return ["bpf_cpu_time_us", "bpf_net_tx_irq", "bpf_net_rx_irq", "bpf_block_irq",
                *self.shuffled_hardware([*HARDWARE, "cpu_ref_cycles"], rng),
                *CGROUP, *KUBELET, "block_devices_used"]

    def predictors(self, answer, trainer):
        return {name: OldPredictor(Weights(part, name), by_scale)
                for name, part in answer.items()}


class Release0711(Release):
    """From 0.7.9 on, getPowerModelTrainerName() in pkg/model/model.go has a default."""
    name = "0.7.11"
    regressor_trainer = sidecar_trainer = LINEAR

    def metrics(self, counters, rng):
        return rng.sample(SOFTWARE, len(SOFTWARE)) + \
            (self.shuffled_hardware(HARDWARE, rng) if counters else [])

    def predictors(self, answer, trainer):
        parts = {name: Weights(part, name) for name, part in answer.items()}
        return {name: Predictor(w, trainer) for name, w in parts.items()}


class Release0712(Release0711):
    """The default is only the regressor's (createPowerModelEstimator())."""
    name = "0.7.12"
    core_ratio = True
    sidecar_trainer = ""

    def request(self, metrics, use, source, trainer, filter_, spec):
        request = super().request(metrics, use, source, trainer, filter_, spec)
        return {**request, "node_type": 0, "machine_spec": spec}

    def predictors(self, answer, trainer):
        name = need(answer.get("model_name"), str, "model_name")
        if name:
            trainer = name.rpartition("_")[0]
            if trainer not in CURVES:
                trainer = LINEAR
        parts = {c: Weights(answer[c], c)
                 for c in ("platform", "package", "core", "uncore", "dram")
                 if answer.get(c) is not None}
        if "platform" in parts:
            parts = {"platform": parts["platform"]}
        return {c: Predictor(w, trainer) for c, w in parts.items()}

    def ratio_of(self, answer, spec):
        model = answer.get("machine_spec")
        if model is None:
            return 1.0
        need_object(model, "machine_spec")
        for key in ("vendor", "processor"):
            need(model.get(key), str, key)
        for key in ("cores", "chips", "memory", "frequency", "threads_per_core"):
            need(model.get(key), int, key)
        cores = model.get("cores") or 0
        return spec["cores"] / cores if cores >= spec["cores"] > 0 else 1.0


class Release09(Release0712):
    """Lists nine metrics in a fixed order, whatever the machine can measure
    (AvailableBPFMetrics() in pkg/collector/stats/stats.go; BPFHwCounters() and
    BPFSwCounters() in pkg/config/config.go). Counters that cannot be opened are 0.
    cpu_ref_cycles has the value of cpu_cycles (updateHWCounters() in
    pkg/collector/resourceutilization/bpf/process_bpf_collector.go)."""
    name = "0.9"
    zero_idle_is_zero = False
    ref_cycles = 1

    def metrics(self, counters, rng):
        return ["cpu_cycles", "cpu_instructions", "cache_miss", "cpu_ref_cycles",
                "bpf_cpu_time_ms", "bpf_net_tx_irq", "bpf_net_rx_irq", "bpf_block_irq",
                "bpf_page_cache_hit"]


RELEASES = {r.name: r for r in (Release053(), Release06(), Release0711(), Release0712(),
                                Release09())}


# ---- the two ways to a model -----------------------------------------------

def post(address, body):
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=TIMEOUT_S)
    try:
        connection.request("POST", "/model", body=body, headers={
            "Content-Type": "application/json; charset=UTF-8"})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


class Client:
    """One configured power model of Kepler: a use, a source, a trainer's name, a filter."""

    def __init__(self, release, use, source, trainer="", filter_="", counters=True,
                 spec=None, seed=1, first=None):
        self.release, self.use, self.source = RELEASES[release], use, source
        self.trainer, self.filter, self.counters = trainer, filter_, counters
        self.spec = spec or {}
        self.metrics = self.release.metrics(counters, random.Random(seed))
        if first in self.metrics:
            self.metrics.remove(first)
            self.metrics.insert(0, first)
        self.ratio = 1.0

    def row(self, load):
        if not self.counters:
            load = {f: v for f, v in load.items() if f not in HARDWARE}
        return self.release.row(self.metrics, load)

    def start(self):
        raise NotImplementedError

    def watts(self, rows):
        """Component -> watts of each row."""
        raise NotImplementedError

    def powers(self, rows, idle):
        """mW of each row: {"pkg", "core", "uncore", "dram"} or {"platform"}.

        The list is as short as the answer. None: Kepler logs an error."""
        if idle:
            rows = [[0.0] * len(row) for row in rows]
        watts = self.watts(rows)
        ratio = min(self.ratio, 1.0) if idle and self.ratio > 0 else 1.0
        if self.source == PLATFORM:
            if not watts:
                return []
            if "platform" not in watts:
                return None
            return [{"platform": to_uint64(w * 1000 * ratio)} for w in watts["platform"]]
        count = self.count(watts, rows)
        return [self.fill({name: self.milliwatts(watts.get(key, []), i, ratio)
                           for name, key in self.release.component_names.items()})
                for i in range(count)]

    def count(self, watts, rows):
        raise NotImplementedError

    @staticmethod
    def milliwatts(watts, i, ratio):
        return to_uint64(watts[i] * 1000 * ratio) if i < len(watts) else 0

    @staticmethod
    def fill(p):
        """FillNodeComponentsPower(): a missing package or core."""
        p["pkg"] = max(p["pkg"], (p["core"] + p["uncore"]) % UINT64)
        if p["core"] == 0:
            p["core"] = (p["pkg"] - p["uncore"]) % UINT64
        return p


class Regressor(Client):
    """Asks the model server once for weights."""

    def __init__(self, address, *args, **more):
        super().__init__(*args, **more)
        self.address = address
        self.found = {}

    def start(self):
        trainer = self.trainer or self.release.regressor_trainer
        request = self.release.request(self.metrics, self.use, self.source, trainer,
                                       self.filter, self.spec)
        status, body = self.post(json.dumps(request))
        if status != 200:
            raise Refused(f"status {status}")
        try:
            answer = json.loads(body)
        except ValueError as e:
            raise Unread(str(e)) from e
        answer = need_object(answer, "the answer")
        # Unmarshal() checks all types before anything is used.
        self.ratio = self.release.ratio_of(answer, self.spec)
        try:
            self.found = self.release.predictors(answer, trainer)
        except ValueError as e:
            # Up to 0.7.11 Start() fails, and only UpdateProcessEnergy() uses a nil model. From
            # 0.7.12 on createPredictor() asks nil for its name.
            if self.use == PROCESS or self.release.core_ratio:
                raise Panic(str(e)) from e

    def post(self, body):
        return post(self.address, body)

    def watts(self, rows):
        if self.source == PLATFORM and "platform" not in self.found:
            return {"none": []}
        return {c: [p.watts(self.metrics, row) for row in rows]
                for c, p in self.found.items()}

    def count(self, watts, rows):
        return len(rows)


class Sidecar(Client):
    """Asks the estimator for each sample. For releases from 0.6 on: 0.5.3 has other output
    types, which tw-estimator refuses."""

    def __init__(self, path, *args, **more):
        super().__init__(*args, **more)
        self.path = path

    def start(self):
        try:
            self.watts([[0.0] * len(self.metrics)])
        except (OSError, Unread) as e:
            raise Refused(str(e)) from e

    def watts(self, rows):
        request = {"metrics": self.metrics, "values": rows, "output_type": OUTPUT[self.use],
                   "source": self.source, "system_features": [ARCHITECTURE[0]],
                   "system_values": [ARCHITECTURE[1]],
                   "trainer_name": self.trainer or self.release.sidecar_trainer,
                   "filter": self.filter}
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(TIMEOUT_S)
            s.connect(self.path)
            s.sendall(json.dumps(request, separators=(",", ":")).encode())
            data = s.recv(READ_BYTES)
        if not data:
            raise Unread("closed without an answer")
        try:
            answer = json.loads(data)
        except ValueError as e:
            raise Unread(str(e)) from e
        powers = need_object(need_object(answer, "the answer").get("powers"), "powers")
        ratio = need_float(answer.get("core_ratio"), "core_ratio")
        if self.release.core_ratio and ratio > 0:
            self.ratio = ratio
        return {c: [need_float(w, c) for w in need(v, list, c) or []]
                for c, v in powers.items()}

    def count(self, watts, rows):
        # Kepler counts the values of a random component; the shortest is the worst.
        return min((len(v) for v in watts.values()), default=0)


# ---- kepler-model-server's own estimator -------------------------------------

class PythonEstimator:
    """How kepler-model-server's estimator gets and loads a model (load_model() in its
    estimate/model/model.py). Only its class for boosted trees needs no pickle.

    The loader builds a model of each JSON object in metadata.json, the innermost first. An
    object without a model's keys is an error. 0.7.12 removes machine_spec before."""
    NEEDED = {"model_class", "model_name", "output_type", "model_file", "features"}

    def __init__(self, address, release):
        self.address, self.release = address, release

    def request(self, metrics, output_type, source, trainer="", spec=None):
        """make_model_request(): without "weight", "node_type" and "model_classes"."""
        own = {"machine_spec": spec} if self.release == "0.7.12" else \
            {"spec": {"cores": spec["cores"]}}
        return {"metrics": [*metrics, ARCHITECTURE[0]], "output_type": output_type,
                "source": source, "filter": "", "trainer_name": trainer, **own}

    def fetch(self, *args, **more):
        status, body = post(self.address, json.dumps(self.request(*args, **more)))
        if status != 200:
            raise Refused(f"status {status}")
        with zipfile.ZipFile(io.BytesIO(body)) as z:
            return {name: z.read(name) for name in z.namelist()}

    def load(self, files):
        """The metadata of a model's files, if the loader takes them."""
        metadata = json.loads(files["metadata.json"])
        self.check(metadata)
        if metadata["model_class"] != "xgboost":
            raise Unread(f"KeyError: '{metadata['model_class']}'")
        for part in json.loads(files[metadata["model_file"]]).values():
            if part["fe_files"] or "learner" not in json.loads(files[part["model_file"]]):
                raise Unread(f"{part['model_file']} is no file of XGBoost")
            if not set(part["features"]) <= set(metadata["features"]):
                raise Unread(f"{part['model_file']} has other features")
        return metadata

    def check(self, metadata):
        if self.release == "0.7.12":
            metadata = {k: v for k, v in metadata.items() if k != "machine_spec"}
        json.loads(json.dumps(metadata), object_hook=self.build)

    def build(self, found):
        if missing := self.NEEDED - set(found):
            raise Unread(f"a model of {list(found)[:4]} has no {sorted(missing)}")
        return found


# ---- the two uses of a model -----------------------------------------------

class Verdict:
    """The worst outcome, and where it occurred."""

    def __init__(self):
        self.outcome, self.detail = OK, ""

    def see(self, outcome, detail):
        if OUTCOMES.index(outcome) < OUTCOMES.index(self.outcome):
            self.outcome, self.detail = outcome, detail

    def see_wraps(self, power, detail):
        for component, mw in power.items():
            if mw > WRAP_MW:
                self.see(WRAP, f"{detail}: {component} {mw / 1000:.3g} W")


def main_mw(power):
    return power.get("platform", power.get("pkg", 0))


def use_for_node(client, loads, verdict):
    """loads: name -> (rates, whether power must be above idle). Dynamic power is absolute
    power minus idle power, as calcDynEnergy() computes it."""
    for name, (rates, loaded) in loads.items():
        rows = [client.row(rates)]
        power = (client.powers(rows, False) or [{}])[0]
        idle = (client.powers(rows, True) or [{}])[0]
        verdict.see_wraps(power, name)
        verdict.see_wraps(idle, f"{name}, its idle row")
        total, rest = main_mw(power), main_mw(idle)
        no_rest = rest == 0 and client.release.zero_idle_is_zero
        dynamic = 0 if total == 0 or no_rest or total < rest else total - rest
        if loaded and (dynamic == 0 or total <= rest):
            verdict.see(ZERO, f"{name}: {total / 1000:.3f} W, idle {rest / 1000:.3f} W")


def use_for_processes(client, containers, verdict):
    """containers: (name, rates, whether power must be above 0). Idle containers have no
    rates. The last row of a request is the node's sums."""
    sums = {}
    for _, rates, _ in containers:
        for feature, rate in rates.items():
            sums[feature] = sums.get(feature, 0.0) + rate
    rows = [client.row(rates) for _, rates, _ in containers] + [client.row(sums)]
    # Idle power first, as in UpdateProcessEnergy().
    idle, powers = client.powers(rows, True), client.powers(rows, False)
    at_rest = 0
    for i, (name, rates, loaded) in enumerate(containers):
        for kind, found in (("its idle row", idle), (name, powers)):
            if found is not None and i >= len(found):
                raise Panic(f"index {i} of {len(found)} powers, {kind}")
        power = powers[i] if powers is not None else {}
        verdict.see_wraps(power, name)
        if idle is not None:
            verdict.see_wraps(idle[i], f"{name}, its idle row")
        if not rates:
            at_rest += main_mw(power) + power.get("dram", 0)
        if loaded and main_mw(power) == 0:
            verdict.see(ZERO, f"{name}: 0 W")
    if at_rest > IDLE_MW:
        verdict.see(IDLE, f"idle containers: {at_rest / 1000:.3f} W")


def use(client, loads, containers):
    """The outcome of a client's use, and a line about it."""
    verdict = Verdict()
    try:
        client.start()
        if client.use == NODE:
            use_for_node(client, loads, verdict)
        else:
            use_for_processes(client, containers, verdict)
    except Panic as e:
        verdict.see(PANIC, str(e))
    except Unread as e:
        verdict.see(UNREAD, str(e))
    except Refused as e:
        verdict.see(REFUSED, str(e))
    return verdict.outcome, verdict.detail
