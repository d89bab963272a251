"""Held: which keys and buttons are down, kept from events alone, so that tests and other sources can feed it."""

from __future__ import annotations

import pygame


class Held:
    """Keys (by scan code: the place on the keyboard, whatever the layout) and mouse buttons.

    A key that goes down and up between two ticks counts as down until `consume`: a tap is never lost.
    """

    def __init__(self) -> None:
        self._down: set[int] = set()
        self._tapped: set[int] = set()

    def feed(self, event: pygame.event.Event) -> None:
        """Take in one event; others than key, button and focus events change nothing."""
        if event.type == pygame.KEYDOWN:
            self._press(event.scancode)
        elif event.type == pygame.KEYUP:
            self._down.discard(event.scancode)
        elif event.type == pygame.MOUSEBUTTONDOWN:
            self._press(-event.button)
        elif event.type == pygame.MOUSEBUTTONUP:
            self._down.discard(-event.button)
        elif event.type in (pygame.WINDOWFOCUSLOST, pygame.WINDOWMINIMIZED):
            self.clear()

    def any(self, codes: tuple[int, ...]) -> bool:
        """Whether one of the scan codes (or negated mouse buttons) is down, or was tapped since `consume`."""
        return any(code in self._down or code in self._tapped for code in codes)

    def consume(self) -> None:
        """Taps have had their effect."""
        self._tapped.clear()

    def clear(self) -> None:
        """Nothing is down any more: the window has lost its keyboard."""
        self._down.clear()
        self._tapped.clear()

    def _press(self, code: int) -> None:
        self._down.add(code)
        self._tapped.add(code)
