"""Draws a curve as SVG, readable on light and dark pages."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Protocol

from growth.curve import Curve, Series

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 190, 34, 44
COLOURS = ("#1f6fb2", "#c2571a", "#2c7a4b", "#8a4fae")
FONT = "ui-sans-serif, system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"
PAPER, INK, MUTED, LINE = "#ffffff", "#1d1c1a", "#6a6862", "#dddbd4"
LABEL_DISTANCE = 16.0


class Scale(Protocol):
    """Places values between the ends of an axis."""

    ticks: list[float]

    def place(self, value: float) -> float: ...


class Axis:
    """A logarithmic scale whose ends are 1, 2 or 5 times a power of ten."""

    def __init__(self, values: list[float], start: float, end: float) -> None:
        steps = [digit * 10.0**power for power in range(-6, 13) for digit in (1, 2, 5)]
        first = max(number for number, step in enumerate(steps) if step <= min(values) * 1.001)
        last = max(min(number for number, step in enumerate(steps) if step >= max(values) * 0.999), first + 3)
        few = last - first <= 6
        self.ticks = [step for step in steps[first : last + 1] if few or is_power_of_ten(step)]
        self._low, self._high = math.log10(steps[first]), math.log10(steps[last])
        self._start, self._end = start, end

    def place(self, value: float) -> float:
        share = (math.log10(value) - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)


class LinearAxis:
    """A linear scale from zero."""

    def __init__(self, values: list[float], start: float, end: float) -> None:
        power = 10.0 ** math.floor(math.log10(max(values)))
        step = next(power * part for part in (0.2, 0.3, 0.5, 1, 2) if max(values) <= power * part * 5)
        self.ticks = [step * number for number in range(math.ceil(max(values) / step - 0.001) + 1)]
        self._start, self._end = start, end

    def place(self, value: float) -> float:
        return self._start + value / self.ticks[-1] * (self._end - self._start)


class SizeAxis(Axis):
    """A logarithmic scale from the smallest to the largest size, with a tick at each."""

    def __init__(self, values: list[float], start: float, end: float) -> None:
        self.ticks = values
        self._low, self._high = math.log10(values[0]), math.log10(values[-1])
        self._start, self._end = start, end


def is_power_of_ten(value: float) -> bool:
    return abs(math.log10(value) - round(math.log10(value))) < 1e-9


def draw(curve: Curve) -> str:
    """Return the picture of a curve."""
    values = [value for series in curve.series for value in series.values if value]
    x = (LinearAxis if curve.linear else SizeAxis)([float(size) for size in curve.sizes], LEFT, WIDTH - RIGHT)
    y = (LinearAxis if curve.linear else Axis)(values, HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="{FONT}" '
        f'font-size="12" role="img" aria-label="{curve.title}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="{PAPER}"/>',
        *(rule(x, y, tick) for tick in y.ticks),
        *(text(x.place(tick), HEIGHT - BOTTOM + 18, count(tick), MUTED) for tick in x.ticks),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, curve.size, MUTED),
        text(8, TOP - 16, curve.unit, MUTED, "start"),
    ]
    lines = [line(series, curve, x, y, colour) for series, colour in zip(curve.series, COLOURS, strict=False)]
    return "\n".join([*parts, *lines, *labels(curve, x, y), "</svg>", ""])


def rule(x: Scale, y: Scale, tick: float) -> str:
    at = y.place(tick)
    drawn = f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="{LINE}"/>'
    return drawn + text(LEFT - 8, at + 4, count(tick), MUTED, "end")


def line(series: Series, curve: Curve, x: Scale, y: Scale, colour: str) -> str:
    points = points_of(series, curve, x, y)
    path = "M" + "L".join(f"{left:.1f} {top:.1f}" for left, top in points)
    dots = "".join(f'<circle cx="{left:.1f}" cy="{top:.1f}" r="3" fill="{colour}"/>' for left, top in points)
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>{dots}'


def labels(curve: Curve, x: Scale, y: Scale) -> list[str]:
    """The name of each line beside its last point, moved apart where two are close."""
    ends = [(points_of(series, curve, x, y)[-1][1], number) for number, series in enumerate(curve.series)]
    places = sorted(ends)
    for above, below in pairwise(range(len(places))):
        least = places[above][0] + LABEL_DISTANCE
        places[below] = (max(places[below][0], least), places[below][1])
    left = WIDTH - RIGHT + 12
    return [
        text(left, top + 4, curve.series[number].name, COLOURS[number], "start") for top, number in places
    ]


def points_of(series: Series, curve: Curve, x: Scale, y: Scale) -> list[tuple[float, float]]:
    pairs = zip(curve.sizes, series.values, strict=True)
    return [(x.place(size), y.place(value)) for size, value in pairs if value]


def text(x: float, y: float, words: str, colour: str = INK, anchor: str = "middle") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}" text-anchor="{anchor}">{words}</text>'


def count(value: float) -> str:
    """A short number: 0.01, 10, 10 k, 1 M."""
    for size, name in ((1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:g}{name}"
    return f"{value:g}"
