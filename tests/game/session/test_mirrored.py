"""What an authority says of its room, in the words of the game: whatever it says, nothing raises."""

import random

from game.binary import SCHEMA
from game.session.mirrored import Mirrored
from game.sim.crowd import OWN
from game.sim.state import Avatar
from net.replication import Authority


class Room:
    """An authority that says what the test says."""

    def __init__(self) -> None:
        self.authority = Authority(SCHEMA, 64)
        self.frames: list[bytes] = []
        self.authority.attach(1, self.frames.append)
        self.authority.greet(1, SCHEMA.greeting())
        self.mirrored = Mirrored()
        self.tick = 0

    def enter(self, peer: str, **fields: object) -> int:
        return self.authority.spawn("avatar", owner=1, avatar=fields, player={"peer": peer, "name": peer.title()})

    def news(self):
        self.tick += 3
        count = len(self.frames)
        self.authority.sample(self.tick)
        return self.mirrored.take(self.frames[-1]) if len(self.frames) > count else None


def test_who_goes_and_comes_back_between_two_frames_is_gone_and_new():
    """An id used again at once never glides from its old place: the session hears that he went before he came."""
    room = Room()
    old = room.enter("ada", x=-10.0)
    room.news()
    room.authority.despawn(old)
    room.enter("ada", x=10.0)
    news = room.news()
    assert news.gone == ["ada"]
    assert {name: pose.x for name, pose in room.mirrored.moved().items()} == {"ada": 10.0}
    assert room.mirrored.people["ada"].name == "Ada"


def test_the_own_avatar_is_there_once_it_was_told_and_only_if_it_is_one():
    room = Room()
    room.enter("ada")
    assert room.news().own is None
    for private, own in ((b"nonsense", None), (OWN.pack(*range(1, 11)), Avatar(1, 3, 2, 4, 5, 6, 7, 8, 9, True))):
        room.authority.tell(1, private)
        assert room.news().own == own


def test_what_nobody_plays_has_a_name_that_no_peer_can_have():
    room = Room()
    room.authority.spawn("avatar", avatar={"x": 3.0})
    room.news()
    (name,) = room.mirrored.moved()
    assert name.startswith("\0")
    assert room.mirrored.people == {}


def test_rest_is_quiet_and_nothing_else_is():
    room = Room()
    entity = room.enter("ada")
    assert not room.news().quiet
    assert room.news().quiet
    room.authority.set(entity, "avatar", z=1.0)
    assert not room.news().quiet


def test_no_history_of_an_odd_authority_raises():
    """Bare entities, foreign archetypes, components that come and go, shared names, odd private bytes, bad frames."""
    chance = random.Random(3)
    room = Room()
    for _ in range(3000):
        everybody = room.authority.entities()
        match chance.randrange(8):
            case 0 if len(everybody) < 60:
                room.authority.spawn(chance.choice(("", "avatar", "dragon")))
            case 1 if len(everybody) < 60:
                room.enter(chance.choice("abc"), x=chance.uniform(-60, 60))
            case 2 if everybody:
                room.authority.despawn(chance.choice(everybody))
            case 3 if everybody:
                entity, component = chance.choice(everybody), chance.choice(("avatar", "player", "link"))
                if room.authority.has(entity, component):
                    room.authority.remove(entity, component)
                else:
                    room.authority.add(entity, component)
            case 4:
                room.authority.tell(1, chance.randbytes(chance.choice((0, 5, 21, 21, 30))))
            case 5 if room.frames:
                data = bytearray(room.frames[-1])
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
                room.mirrored.take(bytes(data))
        if room.mirrored.needs_resync:
            room.authority.resync(1)
        room.news()
        room.mirrored.moved()
    for _ in range(12):
        room.authority.resync(1)
        room.news()
    assert not room.mirrored.needs_resync
