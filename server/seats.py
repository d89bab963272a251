"""Seats: what a room keeps of each player, and the players that live in it."""

from __future__ import annotations

import math

from game.binary import unpack_command
from game.sim.arena import Arena
from game.sim.bot import bot_command
from game.sim.command import Command
from game.sim.constants import TICK_RATE
from game.sim.state import Avatar
from game.wire import PENDING_LIMIT, Person
from net.sync.inputs import InputBuffer
from server.engine import Frame
from server.script import Send

Inputs = InputBuffer[Command]


def commands_at_once() -> Inputs:
    """What makes the fewest corrections: every command in order, as soon as it is paid for. docs/decisions.md says why.

    Nothing that a client of ours has on its way is ever too old.
    """
    return InputBuffer(rate=TICK_RATE, bank=PENDING_LIMIT, limit=PENDING_LIMIT)


class Seat:
    """One player."""

    __slots__ = ("binary", "emote_at", "inputs", "number", "person", "send", "slot")

    def __init__(self, slot: int, number: int, send: Send, person: Person, inputs: Inputs) -> None:
        self.slot = slot
        self.number = number
        """names the connection; 0 if there is none"""
        self.binary = False
        """takes binary frames instead of `state`, `world` and `roster`"""
        self.send = send
        self.person = person
        self.inputs = inputs
        self.emote_at = -math.inf

    def take(self, data: bytes) -> None:
        """Take in one binary message of his: a command. Raises WireError for another one."""
        seq, command = unpack_command(data)
        self.inputs.push(seq, command, command.ticks)


class BotSeat(Seat):
    """A player who lives here: his commands take the way of everybody's."""

    __slots__ = ()

    def __init__(self, slot: int, person: Person, inputs: Inputs) -> None:
        super().__init__(slot, 0, _to_nobody, person, inputs)

    def play(self, avatar: Avatar, tick: int, arena: Arena) -> None:
        """Queue what the bot wants in the tick that comes."""
        self.inputs.push(tick, bot_command(avatar, tick, self.slot + 1, arena), 1)


def _to_nobody(_: Frame) -> None:
    """A bot reads nothing."""
