"""A crowd is what `step` makes of the same avatars, bit for bit, in both of its forms and across the change of form."""

import struct
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from game.sim.arena import CROSSFIRE
from game.sim.batch import Moves
from game.sim.bot import bot_command
from game.sim.checksum import checksum
from game.sim.command import Command
from game.sim.crowd import BATCH_FROM, OWN, Crowd
from game.sim.grid import direction
from game.sim.state import Avatar, World
from game.sim.step import remove, spawn, step

NEVER, ALWAYS = 10_000, 0
FORMS = pytest.mark.parametrize("batch_from", [NEVER, ALWAYS, BATCH_FROM, 50])

any_command = st.builds(
    lambda dx, dz, *rest: Command(*direction(dx, dz), *rest),
    st.integers(-127, 127),
    st.integers(-127, 127),
    st.integers(0, 65535),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.integers(1, 6),
)


class Both:
    """A crowd and the world that it must equal."""

    def __init__(self, batch_from: int, capacity: int = 256):
        self.crowd = Crowd(CROSSFIRE, capacity, batch_from=batch_from)
        self.world = World()

    def spawn(self, slot: int):
        self.crowd.spawn(slot)
        self.world = spawn(self.world, slot, CROSSFIRE)

    def remove(self, slot: int):
        self.crowd.remove(slot)
        self.world = remove(self.world, slot)

    def advance(self, commands):
        self.crowd.advance(commands)
        self.world, _ = step(self.world, commands, CROSSFIRE)

    def check(self):
        world = self.crowd.world()
        assert world == self.world
        assert checksum(world) == checksum(self.world)
        assert self.crowd.slots == tuple(sorted(self.world.avatars))

    def check_reads(self):
        avatars = [self.world.avatars[slot] for slot in self.crowd.slots]
        assert [self.crowd.avatar(slot) for slot in self.crowd.slots] == avatars
        assert self.crowd.packed() == [as_bytes(avatar) for avatar in avatars]
        assert self.crowd.index.tolist() == list(self.crowd.slots)
        for fields in (Avatar.__struct_fields__, ("yaw", "x"), ("vz",)):
            values = self.crowd.read(fields)
            assert values.shape == (len(fields), len(avatars))
            assert values.tolist() == [[getattr(avatar, field) for avatar in avatars] for field in fields]


def as_bytes(a: Avatar) -> bytes:
    return struct.pack("<iiHhhhHBBB", a.x, a.z, a.y, a.vx, a.vy, a.vz, a.yaw, a.dash_ticks, a.cooldown, a.jump_held)


class Rascal:
    """A player who keeps a course for a while, walls or not, jumps and dashes a lot, and whose commands bunch up."""

    def __init__(self, seed: int):
        self.random = Random(seed)
        self.course = (0, 0)
        self.left = 0

    def command(self, ticks: int = 1) -> Command:
        random = self.random
        if not self.left:
            self.left = random.randint(1, 90)
            self.course = random.choice(
                [(0, 0), direction(random.randint(-127, 127), random.randint(-127, 127)), (127, 0), (0, -127), (1, 1)]
            )
        self.left -= 1
        jump, dash = random.random() < 0.3, random.random() < 0.2
        return Command(*self.course, random.randrange(65536), jump, dash, random.random() < 0.1, ticks)

    def bunch(self) -> tuple[Command, ...]:
        kind = self.random.random()
        if kind < 0.2:
            return ()
        if kind < 0.8:
            return (self.command(),)
        return tuple(self.command(self.random.randint(1, 6)) for _ in range(self.random.randint(1, 3)))


@FORMS
@pytest.mark.parametrize(("size", "ticks"), [(1, 600), (4, 400), (16, 300), (50, 200), (200, 100)])
def test_bots_move_as_in_step(size: int, ticks: int, batch_from: int):
    both = Both(batch_from)
    for slot in range(size):
        both.spawn(slot)
    assert both.crowd.batched == (size >= batch_from)
    for tick in range(ticks):
        both.advance({s: (bot_command(avatar, tick, s, CROSSFIRE),) for s, avatar in both.world.avatars.items()})
        both.check()
    both.check_reads()


@FORMS
@pytest.mark.parametrize(("size", "ticks"), [(1, 600), (4, 400), (16, 300), (50, 200), (200, 80)])
def test_rascals_move_as_in_step(size: int, ticks: int, batch_from: int):
    both = Both(batch_from)
    players = {slot: Rascal(slot + size) for slot in range(0, size)}
    for slot in players:
        both.spawn(slot)
    for tick in range(ticks):
        if tick // 20 % 2:
            both.advance({slot: player.bunch() for slot, player in players.items()})
        else:
            both.advance({slot: [player.command()] for slot, player in players.items()})
        both.check()
    assert any(avatar.cooldown for avatar in both.world.avatars.values())
    both.check_reads()


@pytest.mark.parametrize("batch_from", [NEVER, ALWAYS, 6, 16])
def test_players_come_and_go_while_others_move(batch_from: int):
    random, both = Random(4), Both(batch_from, capacity=40)
    players = [Rascal(slot) for slot in range(40)]
    forms = set()
    for tick in range(900):
        wanted = 20 + round(20 * np.sin(tick / 60))  # from nobody to everybody and back, more than once
        here = both.crowd.slots
        if len(here) < wanted:
            both.spawn(random.choice([slot for slot in range(40) if slot not in here]))
        elif len(here) > wanted:
            both.remove(random.choice(here))
        if random.random() < 0.05:
            both.spawn(random.randrange(40))  # perhaps where somebody is
        both.advance({slot: players[slot].bunch() for slot in random.sample(range(40), 35)})
        both.check()
        forms.add(both.crowd.batched)
        if tick % 50 == 0:
            both.check_reads()
    assert forms == {NEVER: {False}, ALWAYS: {True}}.get(batch_from, {False, True})


@settings(deadline=None, max_examples=60)
@given(data=st.data(), batch_from=st.sampled_from([NEVER, ALWAYS, 3, 9]))
def test_whatever_happens_it_is_a_step(data: st.DataObject, batch_from: int):
    both = Both(batch_from, capacity=12)
    slots = st.integers(0, 11)
    for _ in range(data.draw(st.integers(1, 12))):
        for slot in data.draw(st.lists(slots, max_size=6)):
            both.spawn(slot)
        for slot in data.draw(st.lists(slots, max_size=2)):
            both.remove(slot)
        both.advance(data.draw(st.dictionaries(slots, st.lists(any_command, max_size=3))))
        both.check()
    both.check_reads()


@settings(max_examples=60)
@given(st.integers(1, 60), st.integers(0, 2**32), st.sampled_from([1.0, 0.9, 0.3]))
def test_moves_are_commands_of_one_tick_in_any_order(count: int, seed: int, share: float):
    """Some avatars make moves, some of the others have commands, and the rest stand still."""
    both, random = Both(ALWAYS), Random(seed)
    for slot in random.sample(range(256), count):
        both.spawn(slot)
    avatars = both.world.avatars
    for tick in range(1, 25):
        given, moves = {}, {}
        for slot in random.sample(sorted(avatars), count):
            command = bot_command(both.world.avatars[slot], tick, slot, CROSSFIRE)
            if random.random() < share:
                moves[slot] = command
            elif random.random() < 0.7:
                given[slot] = [command] * random.randrange(1, 3)
        columns = [(c.dx, c.dz, c.yaw, c.jump, c.dash) for c in moves.values()]
        both.crowd.advance(
            given, Moves(np.array(list(moves), np.intp), np.array(columns, np.int64).reshape(len(moves), 5).T)
        )
        both.world, _ = step(both.world, given | {slot: [command] for slot, command in moves.items()}, CROSSFIRE)
        both.check()


def test_the_form_changes_late_on_the_way_down():
    crowd = Crowd(CROSSFIRE, 100, batch_from=8)
    forms = {}
    for slot in range(9):
        crowd.spawn(slot)
        forms[len(crowd)] = crowd.batched
    assert forms == {size: size >= 8 for size in range(1, 10)}
    for slot in range(9):
        crowd.remove(slot)
        forms[len(crowd)] = crowd.batched
    assert forms == {size: size >= 6 for size in range(9)} | {9: True}


@pytest.mark.parametrize("batch_from", [NEVER, ALWAYS])
def test_slots_are_held_to_their_limits(batch_from: int):
    crowd = Crowd(CROSSFIRE, 4, batch_from=batch_from)
    for slot in (-1, 4):
        with pytest.raises(ValueError, match="slots are 0 to 3"):
            crowd.spawn(slot)
    crowd.spawn(3)
    crowd.remove(2)
    crowd.advance({2: [Command(dx=127)], 7: [Command(dx=127)]})
    assert crowd.slots == (3,)
    assert len(crowd) == 1
    for slot in (2, 7):
        with pytest.raises(KeyError):
            crowd.avatar(slot)


@pytest.mark.parametrize("batch_from", [NEVER, ALWAYS])
def test_what_was_read_is_the_readers_own(batch_from: int):
    crowd = Crowd(CROSSFIRE, 30, batch_from=batch_from)
    crowd.spawn(5)
    before = crowd.avatar(5)
    crowd.read(("x", "y"))[:] = 0
    assert crowd.avatar(5) == before


def test_own_bytes_have_one_layout():
    assert OWN.format == "<iiHhhhHBBB"
