"""BotPilot: a bot in a player's place."""

from __future__ import annotations

from game.sim.arena import Arena
from game.sim.bot import bot_command
from game.sim.command import Command
from game.sim.state import Avatar


class BotPilot:
    """Plays by `bot_command`: the same seed takes the same walk."""

    def __init__(self, seed: int, arena: Arena) -> None:
        self._seed, self._arena = seed, arena

    def command(self, avatar: Avatar, tick: int) -> Command:
        """What the bot wants in `tick`."""
        return bot_command(avatar, tick, self._seed, self._arena)

    def committed(self) -> None:
        """A bot has no keys to release."""
