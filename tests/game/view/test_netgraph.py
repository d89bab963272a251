from __future__ import annotations

import numpy as np
import pygame
import pytest

from game.session.base import HISTORY, Diagnostics
from game.view.netgraph import MEASURES, NetGraph, Plot, step_up
from game.view.text import Lettering
from game.view.theme import Theme

THEME = Theme(1280, 720)


def test_scales_step_up_and_stay_readable() -> None:
    assert step_up((10, 20, 50), 0) == 10
    assert step_up((10, 20, 50), 10) == 10
    assert step_up((10, 20, 50), 10.1) == 20
    assert step_up((10, 20, 50), 999) == 50
    for measure in MEASURES:
        assert list(measure.steps) == sorted(measure.steps)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.label)
def test_a_plot_shows_high_values_high_and_keeps_inside(measure) -> None:  # type: ignore[no-untyped-def]
    plot = Plot(pygame.Rect(10, 20, 240, 34), measure)
    series = measure.series(Diagnostics())
    for i in range(HISTORY):
        series.add(measure.steps[1] if i == 200 else 0.0)
    plot.update(series)
    assert plot.scale == measure.steps[1]
    heights = plot._heights
    assert int(np.argmin(heights)) == 200
    assert heights[200] <= plot.rect.top + 2
    series.add(1e12)
    plot.update(series)
    assert plot.scale == measure.steps[-1]
    assert plot.rect.top <= heights.min() <= heights.max() < plot.rect.bottom


def test_every_graph_is_redrawn_in_turn() -> None:
    graph = NetGraph(THEME, Lettering(1.0))
    diagnostics = Diagnostics()
    for _ in range(60):
        graph.track(diagnostics, 1 / 60)
    quiet = graph._canvas.copy()
    for measure in MEASURES:
        for i in range(HISTORY):
            measure.series(diagnostics).add(measure.steps[0] * (0.5 + 0.4 * (i % 2)))
    for _ in range(60):
        graph.track(diagnostics, 1 / 60)
    for plot in graph._plots:
        now, before = (pygame.image.tobytes(s.subsurface(plot.rect), "RGBA") for s in (graph._canvas, quiet))
        assert now != before, plot.measure.label


def test_numbers_change_a_few_times_a_second_only() -> None:
    graph = NetGraph(THEME, Lettering(1.0))
    diagnostics = Diagnostics()
    seen = set()
    for i in range(60):
        diagnostics.rtt_ms.add(float(i))
        graph.track(diagnostics, 1 / 60)
        seen.add(graph._numbers[0])
    assert 3 <= len(seen) <= 6
