# SPDX-License-Identifier: Apache-2.0
"""Learns the prior of machines from a table of measured machines. model-db/prior/prior.h has the
formulas of the answers, which are those of this file, too."""
import copy
import json
import multiprocessing
from dataclasses import dataclass, field

import numpy as np

import gaussian_process as gp
from machine_table import (CATEGORIES, CHIPS, CORES, FACTS, GENERATION, GENERATION_SYSTEM, LOADS,
                           MEMORY, MEMORY_TYPE, MHZ, PROCESS, PROCESSOR, SUPPLY, SYSTEM, TDP,
                           THREADS, TableError)

FORMAT = 3
# Beside the facts, the readings of a calibration, which no machine of a prior has.
NUMBERS = FACTS + 4
LIKENESSES = 21
ANCHORS_MAX = 192
ROWS_MIN = 20
INNER = LOADS - 2
# In place of no machine with a curve: a noise so large that its anchor tells nothing.
NO_CURVE = 1e-9
SHAPES = 2
# log(W_idle / W_full) is at most this, so that idle power is below full power.
IDLE_MAX = -0.02
# Typical standard deviations of the targets.
SPREAD = (0.3, 0.5, 0.3, 0.3)
COVERAGE = 0.9
# The error of the least alike machine, if no machine of the table shows it.
UNKNOWN_ERROR = 1.0
# Of the eras that are left out, and of the machines that remain.
ERA_MIN = 4
EARLIER_SHARE = 8  # the table before an era is at least this part of it
MACHINES_MIN = 100

BY_TDP, BY_ROOT_CORES, BY_CORES = range(3)
OF_MACHINE, OF_CHIP, OF_CORE = range(3)


def bits(*places):
    return sum(1 << place for place in places)


MORE = bits(PROCESS, THREADS)
OF_SYSTEM = bits(SYSTEM, GENERATION_SYSTEM)
OF_CPU = bits(*range(CATEGORIES)) & ~OF_SYSTEM
# The variance of generations is that of so many steps from one to the next:
# TW_LINEAGE_STEPS of model-db/prior/lineage.h.
STEPS = 10
# The sets of attributes that may be known, the best known first: name, numbers that must be
# known, categories, what an answer is the power of.
KINDS = (
    ("system", bits(CORES, CHIPS, TDP, MEMORY, MHZ), OF_CPU | OF_SYSTEM, OF_MACHINE),
    ("host", bits(CORES, CHIPS, TDP, MEMORY, MHZ), OF_CPU, OF_MACHINE),
    ("processor", bits(CORES, CHIPS, TDP, MHZ), OF_CPU, OF_MACHINE),
    ("name", bits(CORES, CHIPS), OF_CPU, OF_MACHINE),
    ("chip", bits(CORES, TDP, MHZ), OF_CPU, OF_CHIP),
    ("chip-name", bits(CORES), OF_CPU, OF_CHIP),
    ("core", 0, OF_CPU, OF_CORE),
)
# The views of a prior that ships: those that a machine spec can fill. A spec with chips mostly
# has memory, so the view without memory would be dead weight.
SHIPPED = ("system", "host", "name", "chip", "chip-name", "core")
# The answer of the first is its mean with that of the second.
BESIDE = {"system": "host"}


@dataclass
class Rows:
    """Numbers of machines, and places in the lists of names; -1: unknown."""
    number: np.ndarray
    category: np.ndarray
    machine: np.ndarray  # the row of the table

    def __getitem__(self, which):
        return Rows(self.number[which], self.category[which], self.machine[which])


@dataclass
class Target:
    kernel: gp.Kernel = None
    mean: float = 0
    weight: np.ndarray = None  # of the rows that the view learned from


@dataclass
class Member:
    scale: int
    mean: np.ndarray = None  # of the numbers (log, but for threads) in training
    sd: np.ndarray = None
    low: np.ndarray = None
    high: np.ndarray = None
    shape_mean: np.ndarray = None
    shape: np.ndarray = None
    target: list = field(default_factory=lambda: [Target() for _ in SPREAD])


@dataclass
class View:
    name: str
    needs: int
    categories: int
    unit: int
    member: list
    row: np.ndarray = None     # numbers of the rows that it learned from
    anchor: np.ndarray = None  # rows that stand for those with their processor
    machines: np.ndarray = None  # of each anchor
    curves: np.ndarray = None  # of them, those with power at all loads
    factor: np.ndarray = None  # by which answers are multiplied
    known: tuple = None        # width and error of generations that the table has
    later: tuple = None        # of other generations

    @property
    def numbers(self):
        return self.needs | MORE


def has(mask, count):
    return np.array([mask >> i & 1 for i in range(count)], bool)


def make_view(name, needs, categories, unit):
    member = []
    if needs & bits(TDP):
        member = [Member(BY_TDP)]
    member.append(Member(BY_CORES if unit == OF_CORE else BY_ROOT_CORES))
    return View(name, needs, categories, unit, member)


class Prior:
    """Row i is machine i of the table."""

    def __init__(self, table, views=SHIPPED):
        self.table = table
        self.names = [[] for _ in range(CATEGORIES)]
        self.after = []  # of each generation: the place of the one before it, or -1
        for machine, before in zip(table.category, table.before):
            self.add_generations([machine[GENERATION]] + before if machine[GENERATION] else [])
            for names, name in zip(self.names, machine):
                if name and name not in names:
                    names.append(name)
        place = np.array([[names.index(name) if name else -1
                           for names, name in zip(self.names, machine)]
                          for machine in table.category])
        number = np.full((len(place), NUMBERS), np.nan)
        number[:, :FACTS] = table.number
        self.rows = Rows(number, place, np.arange(len(place)))
        self.similar = {GENERATION: self.find_lineage()}
        self.views = [make_view(*kind) for kind in KINDS if kind[0] in views]
        self.nearest_error = np.zeros(LIKENESSES)

    def beside(self, view):
        return next((v for v in self.views if v.name == BESIDE.get(view.name)), None)

    def add_generations(self, line):
        """A generation, and those before it."""
        names, older = self.names[GENERATION], -1
        for name in reversed(line):
            if name not in names:
                names.append(name)
                self.after.append(older)
            older = names.index(name)

    def find_lineage(self):
        """Covariances of the generations: model-db/prior/lineage.h. The last is unknown."""
        count = len(self.after)
        line = np.zeros((count, count))  # whether b is a or before it
        for a, before in enumerate(self.after):
            if before >= 0:
                line[a] = line[before]
            line[a, a] = 1
        known = self.rows.category[:, GENERATION]
        share = np.bincount(known[known >= 0], minlength=count) / max(np.sum(known >= 0), 1)
        centred = line - share @ line
        similar = np.zeros((count + 1, count + 1))
        similar[:count, :count] = centred @ centred.T / STEPS
        similar[count, count] = share @ np.diag(similar)[:count] + 1 / STEPS
        return similar


# ---- what a member knows of its machines ----

def log_scale(scale, rows):
    x = rows.number
    if scale == BY_TDP:
        return np.log(x[:, CHIPS] * x[:, TDP])
    return np.log(x[:, CHIPS] * (np.sqrt(x[:, CORES]) if scale == BY_ROOT_CORES
                                 else x[:, CORES]))


def log_idle_scale(scale, rows):
    """Of cores, the answer must add up; of chips, idle power grows more slowly."""
    full = log_scale(scale, rows)
    return full if scale == BY_CORES else 0.5 * (full + np.log(rows.number[:, CHIPS]))


def member_numbers(member, rows):
    """As the member uses them: log, memory and supplies over scale. May be NaN."""
    x = np.log(rows.number)
    x[:, THREADS] = rows.number[:, THREADS]
    x[:, [MEMORY, SUPPLY]] -= log_scale(member.scale, rows)[:, None]
    return x


def standardise(view, member, rows):
    """0 for those that the view does not use or nobody knows."""
    x = np.clip(member_numbers(member, rows), member.low, member.high)
    z = (x - member.mean) / member.sd
    return np.where(np.isnan(z) | ~has(view.numbers, NUMBERS), 0, z)


def find_ranges(member, rows):
    x = member_numbers(member, rows)
    count = np.maximum((~np.isnan(x)).sum(0), 1)
    none = np.isnan(x).all(0)
    member.mean = np.nansum(x, 0) / count
    variance = np.nansum(x * x, 0) / count - member.mean ** 2
    sd = np.sqrt(np.maximum(variance, 0))
    member.sd = np.where(sd > 1e-6, sd, 1)
    member.low = np.where(none, 0, np.fmin.reduce(x))
    member.high = np.where(none, 0, np.fmax.reduce(x))


def has_curve(w):
    return ~np.isnan(w).any(1)


def shapes_of(w):
    return (w[:, 1:-1] - w[:, :1]) / (w[:, -1:] - w[:, :1])


def find_shapes(member, w):
    """The first principal components, by power iteration: their signs do not depend on a library."""
    s = shapes_of(w[has_curve(w)])
    member.shape_mean = s.mean(0)
    c = (s - member.shape_mean).T @ (s - member.shape_mean) / len(s)
    member.shape = np.empty((SHAPES, INNER))
    for k in range(SHAPES):
        v, value = 1 + 0.1 * np.arange(INNER), 0
        for _ in range(300):
            u = c @ v
            value = np.sqrt(u @ u)
            v = u / value if value > 0 else 0 * u
        member.shape[k] = v
        c = c - value * np.outer(v, v)


def target_of(member, rows, w, t):
    if t == 0:
        return np.log(w[:, -1]) - log_scale(member.scale, rows)
    if t == 1:
        return np.log(w[:, 0]) - log_idle_scale(member.scale, rows)
    return (shapes_of(w) - member.shape_mean) @ member.shape[t - 2]


# ---- answers: model-db/prior/prior.c, prior_answer.c ----

def compose(member, rows, target):
    """log W at each load from the targets of a member."""
    scale = log_scale(member.scale, rows)
    full = np.exp(target[0] + scale)
    idle = np.minimum(np.exp(target[1] + log_idle_scale(member.scale, rows)),
                      full * np.exp(IDLE_MAX))
    s = member.shape_mean + sum(np.outer(target[2 + k], member.shape[k]) for k in range(SHAPES))
    s = np.maximum.accumulate(np.clip(s, 0, 1), axis=1)
    inner = np.log(idle[:, None] + (full - idle)[:, None] * s)
    return np.column_stack([np.log(idle), inner, np.log(full)])


def take_memory(prior, view, rows):
    """Replace a memory type of which the view has no machine by the nearest one before it of which
    it has."""
    has = set(prior.rows.category[view.row, MEMORY_TYPE]) - {-1}
    out = Rows(rows.number, rows.category.copy(), rows.machine)
    for r, machine in zip(out.category, out.machine):
        for name in prior.table.memory_before[machine]:
            if r[MEMORY_TYPE] in has:
                break
            names = prior.names[MEMORY_TYPE]
            if name in names and names.index(name) in has:
                r[MEMORY_TYPE] = names.index(name)
    return out


def own_log_w(prior, view, rows):
    """The mean of the members: the median, without variance and factor."""
    rows, learned = take_memory(prior, view, rows), prior.rows[view.row]
    out = 0
    for m in view.member:
        z, zl = standardise(view, m, rows), standardise(view, m, learned)
        f = [t.mean + gp.covariance(t.kernel, z, rows.category, zl, learned.category) @ t.weight
             for t in m.target]
        out = out + compose(m, rows, f) / len(view.member)
    return out


def with_beside(prior, view, of):
    """The mean of what a function tells of the view and of the one beside it."""
    beside = prior.beside(view)
    return of(view) if beside is None else 0.5 * (of(view) + of(beside))


def view_log_w(prior, view, rows):
    return with_beside(prior, view, lambda v: own_log_w(prior, v, rows))


def find_anchors(prior, view):
    """The first machine of each processor, and the number of its machines."""
    processor = prior.rows.category[view.row, PROCESSOR]
    _, first, which, count = np.unique(processor, return_index=True, return_inverse=True,
                                       return_counts=True)
    curves = np.bincount(which, has_curve(prior.table.w[view.row]))
    order = np.argsort(first)[:ANCHORS_MAX]
    view.anchor = view.row[first[order]]
    view.machines, view.curves = count[order], curves[order]


def variance_before(kernel, rows, z):
    """Before the table is known: of unknown and of new categories, too, but for memory types."""
    squares = z * z - 1
    out = (gp.SHARED + kernel.radial + kernel.noise + kernel.linear * (z * z).sum(1) +
           kernel.square * (squares * squares).sum(1))
    for c in np.flatnonzero(kernel.used):
        place = rows.category[:, c]
        if c in kernel.similar:
            out += kernel.category[c] * np.diag(kernel.similar[c])[place]
        else:
            out += kernel.category[c] * ((c != MEMORY_TYPE) | (place >= 0))
    return out


def target_variance(kernel, rows, z, anchors, za, machines, without):
    """With a = k(x, anchors), without anchor g: a_g = 0, and
    a' K^-1 a - (K^-1 a)_g^2 / (K^-1)_gg is the variance that the anchors explain.
    """
    inverse = np.linalg.inv(gp.SHARED +
                            gp.covariance(kernel, za, anchors.category, za, anchors.category) +
                            np.diag(kernel.noise / np.maximum(machines, NO_CURVE)))
    a = gp.SHARED + gp.covariance(kernel, z, rows.category, za, anchors.category)
    at = np.flatnonzero(without >= 0)
    g = without[at]
    a[at, g] = 0
    half = a @ inverse
    known = (half * a).sum(1)
    known[at] -= half[at, g] ** 2 / np.diag(inverse)[g]
    return np.maximum(variance_before(kernel, rows, z) - known, kernel.noise)


def own_variance(prior, view, rows, log_w, without):
    """Of log W at each load; without[i]: the anchor that row i may not use, or -1."""
    rows = take_memory(prior, view, rows)
    w = np.exp(log_w)
    idle, full = w[:, :1], w[:, -1:]
    s = (w - idle) / (full - idle)
    anchors = prior.rows[view.anchor]
    out = 0
    for m in view.member:
        z, za = standardise(view, m, rows), standardise(view, m, anchors)
        v = [target_variance(t.kernel, rows, z, anchors, za, view.machines if k < 2 else
                             view.curves, without)[:, None] for k, t in enumerate(m.target)]
        # By the derivatives of log W = log(I + (F - I) s) by log F, log I and s.
        total = (full * s / w) ** 2 * v[0] + (idle * (1 - s) / w) ** 2 * v[1]
        for k in range(SHAPES):
            total[:, 1:-1] += ((full - idle) * m.shape[k] / w[:, 1:-1]) ** 2 * v[2 + k]
        out = out + total / len(view.member)
    return out


def find_variance(prior, view, rows, log_w, without):
    return with_beside(prior, view, lambda v: own_variance(prior, v, rows, log_w, without))


# ---- learning ----

def quantile(x, weight, share):
    """The least value below which `share` of the weight lies."""
    order = np.argsort(x, kind="stable")
    total = np.cumsum(weight[order])
    at = np.searchsorted(total, share * total[-1])
    return x[order[min(at, len(x) - 1)]]


def shares_of(group):
    """Of each row in its group: a processor has the same weight however many machines have it."""
    _, which, count = np.unique(group, return_inverse=True, return_counts=True)
    return 1 / count[which]


def find_factor(log_ratio, group):
    """The factor c minimises the mean of |c P / W - 1|: it is the median of W / P, weighted by
    P / W. Between machines and processors: a processor counts with the root of its machines.
    """
    out = []
    for r in log_ratio.T:
        known = ~np.isnan(r)
        root = np.sqrt(shares_of(group[known]))
        out.append(np.exp(quantile(r[known], root * np.exp(-r[known]), 0.5)))
    return np.array(out)


def find_misses(log_ratio, variance, group, factor, eras=None):
    """Half-widths of 90 % intervals and mean errors, in standard deviations of log W.

    The width is the conformal quantile of |log(W / (c P))| / sd at 90 % (J. Lei et al.,
    Distribution-Free Predictive Inference for Regression, JASA 2018, sections 2 and 5.2), rounded
    up to the next processor, or to the next of so many eras: the machines of one era miss alike
    (R. Dunn et al., Distribution-Free Prediction Sets for Two-Layer Hierarchical Models, 2022).
    """
    width, error = [], []
    for miss, sd in zip((log_ratio - np.log(factor)).T, np.sqrt(variance).T):
        known = ~np.isnan(miss)
        miss, sd, share = miss[known], sd[known], shares_of(group[known])
        groups = len(np.unique(group[known]))
        units = eras or groups
        coverage = min(COVERAGE * (units + 1) / units, 1)
        width.append(quantile(np.abs(miss) / sd, share, coverage))
        error.append(share @ (np.abs(np.exp(-miss) - 1) / sd) / groups)
    return np.array(width), np.array(error)


def has_needs(view, rows):
    return ~np.isnan(rows.number[:, has(view.needs, NUMBERS)]).any(1)


def process_data(prior, view, member, t, use):
    row = view.row[use]
    rows, w = prior.rows[row], prior.table.w[row]
    y = target_of(member, rows, w, t)
    mean = y.mean()
    return gp.Data(standardise(view, member, rows), rows.category, has(view.categories, CATEGORIES),
                   prior.similar, y - mean, prior.table.processor[row], SPREAD[t]), mean


def fit_target(prior, v, m, t, learn, judge):
    """A target of a member of a view, and its predictions of left-out processors."""
    view = prior.views[v]
    member = view.member[m]
    use = has_curve(prior.table.w[view.row]) | (t < 2)
    data, mean = process_data(prior, view, member, t, use)
    kernel = gp.learn(data) if learn else member.target[t].kernel
    weight, left_out = np.zeros(len(use)), np.full(len(use), mean)
    weight[use], constant = gp.solve(data, kernel)
    if judge:
        left_out[use] += gp.leave_out(data, kernel)
    return Target(kernel, mean + constant, weight), left_out


def fit(prior, use, pool=None, learn=True, judge=True):
    """Learn from the machines with use[i]. learn: the variances; judge: factors and misses."""
    for view in prior.views:
        view.row = np.flatnonzero(use & has_needs(view, prior.rows))
        if len(view.row) < ROWS_MIN:
            raise TableError(f"{len(view.row)} machines with the attributes of '{view.name}', "
                             f"need {ROWS_MIN}")
        for member in view.member:
            find_ranges(member, prior.rows[view.row])
            find_shapes(member, prior.table.w[view.row])
        find_anchors(prior, view)
    tasks = [(prior, v, m, t, learn, judge) for v, view in enumerate(prior.views)
             for m in range(len(view.member)) for t in range(len(SPREAD))]
    done = iter(pool.starmap(fit_target, tasks, 1) if pool else
                [fit_target(*task) for task in tasks])
    log_w = {}
    for view in prior.views:
        left_out = []
        for member in view.member:
            results = [next(done) for _ in SPREAD]
            member.target = [result[0] for result in results]
            left_out.append([result[1] for result in results])
        log_w[view.name] = sum(compose(m, prior.rows[view.row], f)
                               for m, f in zip(view.member, left_out)) / len(view.member)
    for view in prior.views if judge else ():
        judge_view(prior, view, with_beside(prior, view, lambda v: log_w[v.name]))


def judge_view(prior, view, log_w):
    """By the machines that it learned from, each without its processor."""
    rows = prior.rows[view.row]
    anchor_of = {prior.rows.category[row, PROCESSOR]: k for k, row in enumerate(view.anchor)}
    without = np.array([anchor_of.get(p, -1) for p in rows.category[:, PROCESSOR]])
    variance = find_variance(prior, view, rows, log_w, without)
    log_ratio = np.log(prior.table.w[view.row]) - log_w + variance
    group = prior.table.processor[view.row]
    view.factor = find_factor(log_ratio, group)
    view.known = find_misses(log_ratio, variance, group, view.factor)


# ---- the error of the nearest measured machine, which the prior has to beat ----

def pool_violators(error, weight):
    """Pool adjacent violators, from the least likeness: errors must not rise."""
    blocks = []  # value, weight, size
    for e, w in zip(error, weight):
        value = e / w if w > 0 else blocks[-1][0] if blocks else UNKNOWN_ERROR
        blocks.append([value, w, 1])
        while len(blocks) > 1 and blocks[-2][0] < blocks[-1][0]:
            value, w, size = blocks.pop()
            both = blocks[-1][1] + w
            if both > 0:
                blocks[-1][0] = (blocks[-1][0] * blocks[-1][1] + value * w) / both
            blocks[-1][1:] = [both, blocks[-1][2] + size]
    return np.repeat([b[0] for b in blocks], [b[2] for b in blocks])


def find_nearest_error(table, use):
    """For each machine, the power of the most alike other one (profiler/likeness.h) whose
    processor differs, times the ratio of their logical CPUs, against its own, by likeness.
    """
    error, weight = np.zeros(LIKENESSES), np.zeros(LIKENESSES)
    share = np.zeros(len(use))
    share[use] = shares_of(table.processor[use])
    for i in np.flatnonzero(use):
        other = np.flatnonzero(use & (table.processor != table.processor[i]))
        if len(other) == 0:
            continue
        nearest = other[np.argmax(table.likeness[i, other])]
        ratio = table.w[nearest] * table.cpus[i] / table.cpus[nearest] / table.w[i]
        k = round(table.likeness[i, nearest] * (LIKENESSES - 1))
        error[k] += np.nanmean(np.abs(ratio - 1)) * share[i]
        weight[k] += share[i]
    return pool_violators(error, weight)


# ---- eras that the table lacks ----
# Intervals and errors of held-out processors are too small for other eras, because the remaining
# processors are of the same era. Each generation and each memory type is left out in turn, whole,
# and judged by what its ancestors tell. A processor has the same weight in each era. The variances
# are those of all machines. Misses are no smaller than those of known generations; without such
# eras they equal them. Eras without ancestors in the table are not judged. Intervals hold for a
# new memory type, too. A new memory type has the expected error of a new generation, which is that
# of generations that are predicted by earlier machines alone: of the newest nothing later is known.


def find_eras(prior, use):
    """The machines of each era, and the category that it is of."""
    count = use.sum()
    out = []
    for c in (GENERATION, MEMORY_TYPE):
        for place in range(len(prior.names[c])):
            era = use & (prior.rows.category[:, c] == place)
            before = use[:np.argmax(era)].sum()
            if (era.sum() >= ERA_MIN and before >= count / EARLIER_SHARE and
                    count - era.sum() >= MACHINES_MIN):
                out.append((era, c))
    return out


def part_of(view, rows):
    """The part of the machines that the view answers for, and how many they have of it."""
    number = rows.number.copy()
    parts = np.ones(len(number))
    if view.unit != OF_MACHINE:
        parts = parts * number[:, CHIPS]
        number[:, CHIPS] = 1
    if view.unit == OF_CORE:
        parts = parts * number[:, CORES]
        number[:, CORES] = 1
    return Rows(number, rows.category, rows.machine), parts


def judge_era(prior, others, era, number):
    """Of each view, by the machines of an era as others tell them: log ratios, variances and
    groups."""
    then = Prior(prior.table, [view.name for view in prior.views])
    then.views = copy.deepcopy(prior.views)
    condition(then, others)
    out = []
    for view in then.views:
        at = np.flatnonzero(era & has_needs(view, then.rows))
        rows, parts = part_of(view, then.rows[at])
        log_w = view_log_w(then, view, rows)
        variance = find_variance(then, view, rows, log_w, np.full(len(at), -1))
        out.append((np.log(then.table.w[at] / parts[:, None]) - log_w + variance, variance,
                    number * len(then.table.w) + then.table.processor[at]))
    return out


def misses_of_eras(judged, v, factor):
    log_ratio, variance, group = (np.concatenate(parts)
                                  for parts in zip(*(era[v] for era in judged)))
    return find_misses(log_ratio, variance, group, factor, len(judged))


def tell_enough(prior, use):
    """Whether each view can learn from these machines."""
    curves = use & has_curve(prior.table.w)
    return all((curves & has_needs(view, prior.rows)).sum() >= ROWS_MIN for view in prior.views)


def judge_eras(prior, eras, others, pool):
    return pool.starmap(judge_era, [(prior, known, era, number) for number, (era, known) in
                                    enumerate(zip(eras, others)) if tell_enough(prior, known)], 1)


def find_later(prior, use, pool):
    few = use.copy()
    few[use] = gp.first_of_groups(prior.table.processor[use], gp.GROUP_ROWS_MAX)
    found = find_eras(prior, use)
    eras = [era for era, _ in found]
    generations = [era for era, c in found if c == GENERATION]
    place = np.arange(len(use))
    left_out = judge_eras(prior, eras, [few & ~era for era in eras], pool)
    forward = judge_eras(prior, generations,
                         [few & (place < np.argmax(era)) for era in generations], pool)
    for v, view in enumerate(prior.views):
        width, error = view.known
        if left_out:
            width = np.maximum(width, misses_of_eras(left_out, v, view.factor)[0])
        if forward:
            error = np.maximum(error, misses_of_eras(forward, v, view.factor)[1])
        view.later = width, error


def learn(prior, use=None):
    """Learn everything from the machines with use[i], None: from all."""
    use = np.ones(len(prior.table.w), bool) if use is None else use
    with multiprocessing.Pool() as pool:
        fit(prior, use, pool)
        prior.nearest_error = find_nearest_error(prior.table, use)
        find_later(prior, use, pool)


def condition(prior, use):
    """Compute the weights for other machines; variances, factors and misses stay."""
    fit(prior, use, learn=False, judge=False)


# ---- the file: docs/machines.md ----

def six(value):
    """Six digits: the error of an answer is far below the noise of the machines."""
    if np.isnan(value):
        return None
    value = float(f"{value:.6g}")
    return int(value) if value == int(value) and abs(value) < 1e6 else value


def numbers(values):
    return [six(v) for v in np.ravel(values)]


def target_document(target, view, count):
    k = target.kernel
    weight = np.zeros(count)
    weight[view.row] = target.weight
    return {"format": 1, "parts": numbers([target.mean, k.linear, k.square, k.radial, k.noise]),
            "length": numbers(k.length[:FACTS]), "category": numbers(k.category),
            "weight": numbers(weight)}


def view_document(prior, view, count):
    beside = prior.beside(view)
    beside = -1 if beside is None else prior.views.index(beside)
    out = {"name": view.name, "beside": beside, "needs": view.needs, "numbers": view.numbers,
           "categories": view.categories, "unit": view.unit, "factor": numbers(view.factor)}
    for name, (width, error) in (("", view.known), ("later_", view.later)):
        out[name + "width"], out[name + "error"] = numbers(width), numbers(error)
    out["members"] = [
        {"scale": m.scale, "mean": numbers(m.mean[:FACTS]), "sd": numbers(m.sd[:FACTS]),
         "low": numbers(m.low[:FACTS]), "high": numbers(m.high[:FACTS]),
         "shape_mean": numbers(m.shape_mean), "shape": numbers(m.shape),
         "targets": [target_document(t, view, count) for t in m.target]} for m in view.member]
    return out


def text_of(prior):
    """A line for each machine, view and member."""
    def dump(value):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)

    machines = [numbers(number) + place.tolist() + numbers(w) for number, place, w in
                zip(prior.table.number, prior.rows.category, prior.table.w)]
    views = [view_document(prior, view, len(machines)) for view in prior.views]
    lines = [dump({"prior": FORMAT, "categories": prior.names, "after": prior.after})[:-1] +
             ',\n"machines":[',
             ",\n".join(dump(m) for m in machines) +
             f'],"nearest_error":{dump(numbers(prior.nearest_error))},', '"views":[']
    texts = []
    for view in views:
        members = view.pop("members")
        texts.append(dump(view)[:-1] + ',"members":[\n' +
                     ",\n".join(dump(m) for m in members) + "]}")
    return "\n".join(lines) + "\n" + ",\n".join(texts) + "]}\n"
