"""The net graph: what the connection and the netcode did in the last seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import pygame

from game.session.base import HISTORY, Diagnostics, Series
from game.view import shapes
from game.view.panel import MARGIN, Panel, plate
from game.view.shapes import Rgb
from game.view.text import Lettering
from game.view.theme import AMBER, BLUE, CYAN, FAINT, GREEN, HEADING, LIME, MAGENTA, SOFT, TEAL, VIOLET, Face, Theme

WIDTH: Final = 288
_HEAD: Final = 36
_GRAPH: Final = 28
_AXIS: Final = 30
"""designed pixels for the scale beside a graph"""
_BLOCK: Final = 53
_PERIOD: Final = 0.2
"""seconds between changes of the numbers, so that they can be read"""
_RATE: Final = 15.0
"""times a second that each graph is redrawn"""
_MS: Final = (10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0)


class Measure(NamedTuple):
    """How one series is shown."""

    label: str
    color: Rgb
    series: Callable[[Diagnostics], Series]
    number: Callable[[Series], str]
    steps: tuple[float, ...]
    """upper ends that the scale may take; beyond the last it is cut"""
    unit: str
    comb: bool = False
    """one bar a sample instead of a line"""
    mark: float = 0.0
    """a value with a line of its own"""


def _last(series: Series) -> str:
    return f"{series.last:.0f} ms"


def _peak(series: Series) -> str:
    return f"{float(series.view().max()):.2f} u peak"


def _lowest(series: Series) -> str:
    return f"{float(series.view()[-60:].min()):.0f} ms least"


def _mean(series: Series) -> str:
    return f"{float(series.view()[-30:].mean()):.1f} ms"


MEASURES: Final = (
    Measure("ROUND TRIP", CYAN, lambda d: d.rtt_ms, _last, _MS[2:], "ms"),
    Measure("JITTER", AMBER, lambda d: d.jitter_ms, _last, _MS, "ms"),
    Measure("SNAPSHOT GAP", GREEN, lambda d: d.snapshot_gap_ms, _last, _MS[3:], "ms", comb=True),
    Measure("RENDER DELAY", TEAL, lambda d: d.render_delay_ms, _last, _MS[2:], "ms"),
    Measure("BUFFER DEPTH", LIME, lambda d: d.buffer_depth_ms, _lowest, _MS[2:], "ms"),
    Measure("PENDING COMMANDS", VIOLET, lambda d: d.pending, lambda s: f"{s.last:.0f}", (8, 16, 32, 64, 128), ""),
    Measure(
        "CORRECTION", MAGENTA, lambda d: d.correction_units, _peak, (0.1, 0.25, 0.5, 1, 2, 5, 10, 50), "u", comb=True
    ),
    Measure("FRAME TIME", BLUE, lambda d: d.frame_ms, _mean, _MS[1:], "ms", mark=16.7),
)


def step_up(steps: tuple[float, ...], largest: float) -> float:
    """The smallest step that holds `largest`, or the last one."""
    return next((step for step in steps if largest <= step), steps[-1])


class Plot:
    """One graph's points in a buffer that is filled anew each frame."""

    def __init__(self, rect: pygame.Rect, measure: Measure) -> None:
        self.rect = rect
        self.measure = measure
        self.scale = measure.steps[0]
        self._dark = shapes.mix((9, 14, 29), measure.color, 0.22)
        x = np.linspace(rect.left, rect.right - 1, HISTORY).round().astype(np.int32)
        self._bottom = rect.bottom - 1
        # a comb goes down, up and down again at each sample; an outline starts and ends at the bottom
        self._points = np.full((3 * HISTORY if measure.comb else HISTORY + 2, 2), self._bottom, np.int32)
        if measure.comb:
            self._points[:, 0] = np.repeat(x, 3)
            self._heights = self._points[1::3, 1]
        else:
            self._points[1:-1, 0] = x
            self._points[0, 0], self._points[-1, 0] = x[0], x[-1]
            self._heights = self._points[1:-1, 1]

    def update(self, series: Series) -> None:
        """Take in the samples, and choose the scale."""
        values = series.view()
        self.scale = step_up(self.measure.steps, float(values.max()))
        reach = self.rect.height - 2
        self._heights[:] = self._bottom - np.clip(values * (reach / self.scale), 0, reach)

    def draw(self, target: pygame.Surface) -> None:
        """Draw what `update` took in."""
        points = self._points.tolist()
        if self.measure.comb:
            pygame.draw.lines(target, self.measure.color, False, points)
            return
        pygame.draw.polygon(target, self._dark, points)
        pygame.draw.lines(target, self.measure.color, False, points[1:-1])


class NetGraph(Panel):
    """A plate that stays; the graphs on it are redrawn in turn, so that no frame pays for all of them."""

    def __init__(self, theme: Theme, lettering: Lettering) -> None:
        super().__init__(theme, lettering)
        inset, head, block = theme.px(12), theme.px(_HEAD), theme.px(_BLOCK)
        self._size = theme.px(WIDTH), head + len(MEASURES) * block + theme.px(4)
        axis = theme.px(_AXIS)
        width = self._size[0] - 2 * inset - axis
        self._plots = [
            Plot(pygame.Rect(inset + axis, head + i * block + theme.px(20), width, theme.px(_GRAPH)), measure)
            for i, measure in enumerate(MEASURES)
        ]
        self._blocks = [pygame.Rect(0, head + i * block, self._size[0], block) for i in range(len(MEASURES))]
        self._plate = self._paint_plate()
        self._canvas = self._plate.copy()
        self._numbers = [""] * len(MEASURES)
        self._diagnostics = Diagnostics()
        self._next = 0
        self._due = float(len(MEASURES))
        self._wait = 0.0

    def track(self, diagnostics: Diagnostics, dt: float) -> None:
        """Take in the newest samples, and redraw the graphs whose turn it is."""
        self._diagnostics = diagnostics
        self._wait -= dt
        if self._wait <= 0:
            self._wait = _PERIOD
            self._numbers = [measure.number(measure.series(diagnostics)) for measure in MEASURES]
        self._due = min(len(MEASURES), self._due + dt * _RATE * len(MEASURES))
        while self._due >= 1:
            self._due -= 1
            self._redraw(self._next)
            self._next = (self._next + 1) % len(MEASURES)

    def paint(self) -> pygame.Surface:
        """The canvas that `track` keeps up to date."""
        return self._canvas

    def place(self, size: tuple[int, int]) -> tuple[int, int]:
        """The window's upper right."""
        margin = self.theme.px(MARGIN)
        return self.theme.width - margin - size[0], margin

    def _paint_plate(self) -> pygame.Surface:
        """All that never changes."""
        theme, lettering = self.theme, self.lettering
        picture = plate(theme, *self._size)
        picture.blit(lettering.render("NET GRAPH", Face.TITLE, 15, HEADING), (theme.px(14), theme.px(9)))
        hint = lettering.render(f"{HISTORY // 60} s", Face.NUMBER, 12, FAINT)
        picture.blit(hint, (self._size[0] - theme.px(12) - hint.get_width(), theme.px(12)))
        for plot in self._plots:
            box = plot.rect
            label = lettering.render(plot.measure.label, Face.LABEL, 13, SOFT)
            picture.blit(label, (theme.px(14), box.top - label.get_height() - theme.px(1)))
            picture.fill((5, 9, 20, 235), box)
            for part in (0, 1, 2):
                y = box.top + (box.height - 1) * part // 2
                pygame.draw.line(picture, (30, 44, 76), (box.left, y), (box.right - 1, y))
        return picture

    def _redraw(self, index: int) -> None:
        """One graph with its number and scale, on the canvas."""
        canvas, plot, block = self._canvas, self._plots[index], self._blocks[index]
        measure, box = plot.measure, plot.rect
        plot.update(measure.series(self._diagnostics))
        canvas.fill((0, 0, 0, 0), block)
        canvas.blit(self._plate, block, block)
        text = self.lettering.render(self._numbers[index], Face.NUMBER, 13, measure.color)
        canvas.blit(text, (box.right - text.get_width(), box.top - text.get_height() - self.theme.px(1)))
        for value, y in ((plot.scale, box.top), (0.0, box.bottom)):
            end = self.lettering.render(f"{value:g}", Face.NUMBER, 10, FAINT)
            canvas.blit(end, (box.left - end.get_width() - self.theme.px(4), y - (0 if value else end.get_height())))
        if 0 < measure.mark < plot.scale:
            y = box.bottom - 1 - round(measure.mark / plot.scale * (box.height - 2))
            pygame.draw.line(canvas, (120, 62, 84), (box.left, y), (box.right - 1, y))
        plot.draw(canvas)
