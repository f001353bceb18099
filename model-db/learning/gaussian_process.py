# SPDX-License-Identifier: Apache-2.0
"""A Gaussian process over machines (model-db/prior/prior.h): its variances by maximum of the
posterior density, its weights, and its predictions of left-out processors in closed form.

Source: C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, 2006,
sections 2.2, 5.4 and 5.4.2.
"""
from dataclasses import dataclass

import numpy as np

# Variance of the part that all rows share: TW_PRIOR_SHARED of model-db/prior/prior.h.
SHARED = 1.0
# The variances are searched by Rprop on the gradient of the log posterior density
# (M. Riedmiller, H. Braun, 1993): a fixed number of steps, no line search, the same result
# for the same input. The density of the logarithms of standard deviations and lengths is normal.
STEPS = 20
GROUP_ROWS_MAX = 3
# No power is known better than to 0.1 %. It keeps the weights small.
NOISE_MIN = 1e-6


@dataclass
class Kernel:
    """Variances of the parts of a process; a length for each number."""
    linear: float
    square: float
    radial: float
    noise: float
    length: np.ndarray
    category: np.ndarray
    used: np.ndarray  # whether the view uses a category
    similar: dict     # of categories with likeness: a matrix by places


@dataclass
class Data:
    """What a process learns from: a row for each machine."""
    z: np.ndarray         # standardised numbers
    category: np.ndarray  # places in the lists of names; below 0: unknown
    used: np.ndarray      # whether the view uses a category
    similar: dict         # of categories with likeness: a matrix by places
    y: np.ndarray         # without its mean
    group: np.ndarray     # the processor of each row
    spread: float         # typical standard deviation of y, for the density of the variances


def likeness(similar, a, b, c):
    """Of rows of a and of b in a category: 1 or 0, or by its matrix; 0: unknown."""
    known = (a[:, c, None] >= 0) & (b[None, :, c] >= 0)
    if c in similar:
        return known * similar[c][np.ix_(a[:, c], b[:, c])]
    return known & (a[:, c, None] == b[None, :, c])


def radial_part(k, za, zb):
    a, b = za / k.length, zb / k.length
    distance = (a * a).sum(1)[:, None] + (b * b).sum(1)[None, :] - 2 * a @ b.T
    return k.radial * np.exp(-0.5 * np.maximum(distance, 0))


def covariance(k, za, ca, zb, cb):
    """Of each row of a and each of b, without noise and without what all rows share."""
    out = k.linear * (za @ zb.T) + k.square * ((za * za - 1) @ (zb * zb - 1).T)
    out += radial_part(k, za, zb)
    for c in np.flatnonzero(k.used):
        out += k.category[c] * likeness(k.similar, ca, cb, c)
    return out


def own_covariance(d, k):
    return (SHARED + covariance(k, d.z, d.category, d.z, d.category) +
            k.noise * np.eye(len(d.y)))


# ---- variances ----
# Parameters: logs of standard deviations (linear, square, radial, noise), of lengths, and of the
# standard deviations of categories.
LENGTH = 4


def kernel_of(d, theta):
    numbers = d.z.shape[1]
    variance = np.exp(2 * theta)
    return Kernel(variance[0], variance[1], variance[2], NOISE_MIN + variance[3], np.exp(theta[LENGTH:LENGTH + numbers]),
                  variance[LENGTH + numbers:], d.used, d.similar)


def density(d):
    """Mean and standard deviation of the normal density of each parameter."""
    numbers, categories = d.z.shape[1], d.category.shape[1]
    mean = np.full(LENGTH + numbers + categories, np.log(0.3 * d.spread))
    sd = np.full(len(mean), 1.5)
    mean[1] = np.log(0.1 * d.spread)
    mean[2] = np.log(0.5 * d.spread)
    mean[LENGTH:LENGTH + numbers] = np.log(3)
    sd[LENGTH:LENGTH + numbers] = 0.8
    return mean, sd


def gradient(d, k, of_covariance):
    """Of the sum of of_covariance times the covariance, by the parameters."""
    z, numbers = d.z, d.z.shape[1]
    g = np.zeros(LENGTH + numbers + d.category.shape[1])
    squares = z * z - 1
    g[0] = k.linear * np.sum(z * (of_covariance @ z))
    g[1] = k.square * np.sum(squares * (of_covariance @ squares))
    g[3] = (k.noise - NOISE_MIN) * np.trace(of_covariance)
    for c in np.flatnonzero(k.used):
        like = likeness(k.similar, d.category, d.category, c)
        g[LENGTH + numbers + c] = k.category[c] * np.sum(of_covariance * like)
    part = of_covariance * radial_part(k, z, z)
    a = z / k.length
    g[2] = part.sum()
    # Half of the sum of part_ij (a_i - a_j)^2
    g[LENGTH:LENGTH + numbers] = part.sum(1) @ (a * a) - np.sum(a * (part @ a), 0)
    return g


def evaluate(d, theta):
    """The negative log posterior density, and its gradient; (inf, None) if it has none."""
    k = kernel_of(d, theta)
    try:
        root = np.linalg.cholesky(own_covariance(d, k))
    except np.linalg.LinAlgError:
        return np.inf, None
    half = np.linalg.inv(root)
    inverse = half.T @ half
    weight = inverse @ d.y
    mean, sd = density(d)
    t = (theta - mean) / sd
    f = 0.5 * weight @ d.y + np.log(np.diag(root)).sum() + 0.5 * t @ t
    return f, gradient(d, k, inverse - np.outer(weight, weight)) + t / sd


def search(d):
    theta = density(d)[0]
    step, last, g = np.full(len(theta), 0.2), np.zeros(len(theta)), np.zeros(len(theta))
    least, best = np.inf, theta
    for _ in range(STEPS):
        f, found = evaluate(d, theta)
        g = g if found is None else found
        if f < least:
            least, best = f, theta
        turn = g * last
        step = np.where(turn > 0, np.minimum(1.3 * step, 0.6), np.where(turn < 0, 0.5 * step, step))
        last = np.where(turn < 0, 0, g)
        theta = theta - step * np.sign(last)
    return best


def first_of_groups(group, most):
    """Which rows are among the first few of their group."""
    seen, out = {}, np.zeros(len(group), bool)
    for i, g in enumerate(group):
        seen[g] = seen.get(g, 0) + 1
        out[i] = seen[g] <= most
    return out


def learn(d):
    """The kernel. Rows of one group beyond the first few are not used."""
    few = first_of_groups(d.group, GROUP_ROWS_MAX)
    thin = Data(d.z[few], d.category[few], d.used, d.similar, d.y[few], d.group[few], d.spread)
    return kernel_of(d, search(thin))


# ---- predictions ----

def solve(d, k):
    """(K + noise)^-1 y, and the constant that all predictions have besides."""
    weight = np.linalg.solve(own_covariance(d, k), d.y)
    return weight, SHARED * weight.sum()


def leave_out(d, k):
    """The prediction of each row without the rows of its group b:
    y_b - ((K^-1)_bb)^-1 (K^-1 y)_b
    """
    inverse = np.linalg.inv(own_covariance(d, k))
    weight = inverse @ d.y
    out = np.empty(len(d.y))
    for group in np.unique(d.group):
        b = np.flatnonzero(d.group == group)
        out[b] = d.y[b] - np.linalg.solve(inverse[np.ix_(b, b)], weight[b])
    return out
