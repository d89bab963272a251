"""Seats: what a room keeps of each player."""

from __future__ import annotations

import math
from typing import Final, Protocol

from game.sim.command import Command
from game.sim.constants import TICK_RATE
from game.wire import PENDING_LIMIT, Person
from net.sync.inputs import InputBuffer
from server.engine import Frame

Inputs = InputBuffer[Command]


def commands_at_once() -> Inputs:
    """What makes the fewest corrections: every command in order, as soon as it is paid for. docs/decisions.md says why.

    Nothing that a client of ours has on its way is ever too old.
    """
    return InputBuffer(rate=TICK_RATE, bank=PENDING_LIMIT, limit=PENDING_LIMIT)


class Recipient(Protocol):
    """Who is sent what one player is told."""

    def send(self, frame: Frame) -> None:
        """Take a frame that was encoded before."""
        ...

    def send_bytes(self, data: bytes) -> None:
        """Take one binary frame."""
        ...


class Seat:
    """One player."""

    __slots__ = ("binary", "emote_at", "number", "person", "recipient", "slot")

    def __init__(self, slot: int, number: int, recipient: Recipient, person: Person) -> None:
        self.slot = slot
        self.number = number
        """names the connection; 0 if there is none"""
        self.binary = False
        """takes binary frames instead of `state`, `world` and `roster`"""
        self.recipient = recipient
        self.person = person
        self.emote_at = -math.inf

    def send(self, frame: Frame) -> None:
        """Tell him."""
        self.recipient.send(frame)


class _Nobody:
    """A bot reads nothing."""

    def send(self, frame: Frame) -> None:
        pass

    def send_bytes(self, data: bytes) -> None:
        pass


NOBODY: Final = _Nobody()
