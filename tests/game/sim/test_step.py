"""The whole tick: order, absent commands, events, and a recorded log that replays to a known checksum."""

import json
from pathlib import Path

import msgspec

from game.sim.arena import CROSSFIRE
from game.sim.bot import bot_command
from game.sim.checksum import checksum
from game.sim.command import Command
from game.sim.state import World
from game.sim.step import Happening, remove, spawn, step

RECORDED = Path(__file__).with_name("recorded.json")


def test_an_avatar_without_a_command_keeps_its_own_time():
    world = spawn(spawn(World(), 0, CROSSFIRE), 1, CROSSFIRE)
    world, _ = step(world, {0: (Command(dx=127, jump=True),)}, CROSSFIRE)
    still = world.avatars[1]
    moved = world.avatars[0]
    for _ in range(5):
        world, _ = step(world, {}, CROSSFIRE)
    assert world.tick == 6
    assert world.avatars == {0: moved, 1: still}


def test_late_commands_in_one_tick_equal_the_same_commands_in_time():
    log = [Command(dx=127, dash=i == 2, jump=i == 4) for i in range(8)]
    in_time = late = spawn(World(), 3, CROSSFIRE)
    for command in log:
        in_time, _ = step(in_time, {3: (command,)}, CROSSFIRE)
    late, _ = step(late, {3: log}, CROSSFIRE)
    assert late.avatars == in_time.avatars


def test_events_tell_of_jumps_landings_and_dashes_once():
    world, told = spawn(World(), 0, CROSSFIRE), []
    for tick in range(60):
        world, events = step(world, {0: (Command(jump=tick == 0, dash=tick == 50),)}, CROSSFIRE)
        told += [(event.tick, event.happening) for event in events]
    assert told == [(1, Happening.JUMP), (43, Happening.LAND), (51, Happening.DASH)]


def test_the_order_in_which_avatars_came_does_not_matter():
    one = spawn(spawn(World(), 0, CROSSFIRE), 5, CROSSFIRE)
    other = spawn(spawn(World(), 5, CROSSFIRE), 0, CROSSFIRE)
    for tick in range(200):
        one, _ = step(one, bots(one, tick), CROSSFIRE)
        other, _ = step(other, dict(reversed(bots(other, tick).items())), CROSSFIRE)
    assert checksum(one) == checksum(other)
    assert list(other.avatars) == [0, 5]


def test_the_checksum_sees_every_field():
    world = spawn(World(), 2, CROSSFIRE)
    avatar = world.avatars[2]
    seen = {checksum(world), checksum(World(1, world.avatars)), checksum(remove(world, 2))}
    for field in avatar.__struct_fields__:
        changed = msgspec.structs.replace(avatar, **{field: 1 - getattr(avatar, field)})
        seen.add(checksum(World(0, {2: changed})))
    assert len(seen) == 3 + len(avatar.__struct_fields__)


def test_a_recorded_log_replays_to_the_checksum_that_was_recorded():
    recorded = json.loads(RECORDED.read_text())
    world = World()
    for slot in recorded["slots"]:
        world = spawn(world, slot, CROSSFIRE)
    for row in recorded["commands"]:
        world, _ = step(
            world, {slot: (Command(*f),) for slot, f in zip(recorded["slots"], row, strict=True)}, CROSSFIRE
        )
    assert checksum(world) == recorded["checksum"]


def bots(world: World, tick: int) -> dict[int, tuple[Command, ...]]:
    return {slot: (bot_command(avatar, tick, slot, CROSSFIRE),) for slot, avatar in world.avatars.items()}
