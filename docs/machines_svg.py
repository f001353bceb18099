#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/machines.svg from docs/machines-curves.csv: curves with 90 % intervals.

    machines_svg.py CURVES.csv > PICTURE.svg
"""
import csv
import sys

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, GAP = 300, 260, 50, 30, 40, 15
COLOURS = {"prior": "#1f77b4", "calibrated": "#d62728"}


def read(path):
    """machine -> estimate -> [(load, watts, low, high)]"""
    machines = {}
    with open(path, encoding="utf-8", newline="") as f:
        for row in csv.DictReader(f):
            points = machines.setdefault(row["machine"], {}).setdefault(row["estimate"], [])
            points.append(tuple(float(row[k]) for k in ("load", "watts", "low", "high")))
    return machines


def step_of(most):
    """A round distance of grid lines."""
    for step in (25, 50, 100, 200, 250, 500, 1000):
        if most / step <= 6:
            return step
    return 2000


class Panel:
    """A chart of one machine."""

    def __init__(self, left, most):
        self.left, self.step = left + LEFT, step_of(most)
        self.most = -(-most // self.step) * self.step
        self.width, self.height = WIDTH - LEFT - GAP, HEIGHT - TOP - BOTTOM

    def place(self, load, watts):
        return (f"{self.left + self.width * load / 100:.1f},"
                f"{TOP + self.height * (1 - watts / self.most):.1f}")

    def frame(self, title):
        x, y = self.left, TOP + self.height
        yield f'<text x="{x}" y="{TOP - 12}" font-weight="bold">{title}</text>'
        for watts in range(0, int(self.most) + 1, self.step):
            a, b = self.place(0, watts), self.place(100, watts)
            yield f'<path d="M{a} L{b}" stroke="#ddd" fill="none"/>'
            yield (f'<text x="{x - 5}" y="{float(a.split(",")[1]) + 4:.1f}" '
                   f'text-anchor="end">{watts}</text>')
        for load in range(0, 101, 25):
            yield (f'<text x="{x + self.width * load / 100:.1f}" y="{y + 16}" '
                   f'text-anchor="middle">{load}</text>')
        yield (f'<text x="{x + self.width / 2:.1f}" y="{y + 32}" text-anchor="middle">'
               "load, %; power, W</text>")

    def curve(self, name, points):
        upper = [self.place(load, high) for load, _, _, high in points]
        lower = [self.place(load, low) for load, _, low, _ in reversed(points)]
        middle = [self.place(load, watts) for load, watts, _, _ in points]
        yield (f'<path d="M{" L".join(upper + lower)} Z" fill="{COLOURS[name]}" '
               'fill-opacity="0.18"/>')
        yield (f'<path d="M{" L".join(middle)}" fill="none" stroke="{COLOURS[name]}" '
               'stroke-width="2"/>')


def draw(machines):
    width = WIDTH * len(machines)
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT + 20}" '
           'font-family="sans-serif" font-size="11">')
    yield f'<rect width="{width}" height="{HEIGHT + 20}" fill="white"/>'
    for i, (name, estimates) in enumerate(machines.items()):
        panel = Panel(i * WIDTH, max(p[3] for points in estimates.values() for p in points))
        yield from panel.frame(name)
        for estimate, points in estimates.items():
            yield from panel.curve(estimate, points)
    for i, (name, colour) in enumerate(COLOURS.items()):
        yield (f'<text x="{LEFT + 90 * i}" y="{HEIGHT + 12}" fill="{colour}">{name}</text>')
    yield "</svg>"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: machines_svg.py CURVES.csv")
    print("\n".join(draw(read(sys.argv[1]))))


if __name__ == "__main__":
    main()
