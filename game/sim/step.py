"""One tick of the whole world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from game.sim.arena import Arena
from game.sim.command import Command
from game.sim.movement import move_avatar
from game.sim.state import Avatar, World


class Happening(StrEnum):
    """What can happen to an avatar in a tick."""

    JUMP = "jump"
    LAND = "land"
    DASH = "dash"


class Event(msgspec.Struct, frozen=True):
    """Something that happened in a tick, for sound, effects and scores."""

    tick: int
    slot: int
    happening: Happening


def step(world: World, commands: Mapping[int, Sequence[Command]], arena: Arena) -> tuple[World, list[Event]]:
    """The world one tick on, and what happened.

    `commands` has for each slot what that player's avatar does in this tick: usually one command; none where nothing
    has arrived, so that this avatar's own time stands still (it is never moved by a guess, and its player's
    prediction stays right); several where late ones arrived together. Slots are taken in rising order.
    """
    tick = world.tick + 1
    events: list[Event] = []
    avatars: dict[int, Avatar] = {}
    for slot in sorted(world.avatars):
        avatar = world.avatars[slot]
        for command in commands.get(slot, ()):
            moved = move_avatar(avatar, command, arena)
            events.extend(Event(tick, slot, happening) for happening in happenings(avatar, moved))
            avatar = moved
        avatars[slot] = avatar
    return World(tick, avatars), events


def happenings(before: Avatar, after: Avatar) -> list[Happening]:
    """What happened between two states of one avatar."""
    found = []
    if before.y == 0 and after.y > 0:
        found.append(Happening.JUMP)
    if before.y > 0 and after.y == 0:
        found.append(Happening.LAND)
    if after.cooldown > before.cooldown:
        found.append(Happening.DASH)
    return found


def spawn(world: World, slot: int, arena: Arena) -> World:
    """The world with a new avatar in `slot`, at that slot's place."""
    x, z, yaw = arena.spawns[slot % len(arena.spawns)]
    return World(world.tick, {**world.avatars, slot: Avatar(x=x, z=z, yaw=yaw)})


def remove(world: World, slot: int) -> World:
    """The world without the avatar in `slot`."""
    return World(world.tick, {key: avatar for key, avatar in world.avatars.items() if key != slot})
