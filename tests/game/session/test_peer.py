"""Matches without an authority: everyone simulates himself, on one ManualClock over a hub."""

import math
from dataclasses import dataclass, field

import msgspec
import pytest

from game.session.base import HISTORY, Frame, Link, RemoteMotion
from game.session.peer import PeerSession
from game.session.pilot import BotPilot
from game.sim.arena import CROSSFIRE
from game.sim.command import Command
from game.sim.state import Avatar
from net.clock import ManualClock
from net.transport.conditioner import Conditions
from net.transport.local import LocalHub, LocalTransport

TICK = 1 / 60


class Still:
    """A player who does what `wish` says."""

    def __init__(self) -> None:
        self.wish = Command()

    def command(self, avatar: Avatar, tick: int) -> Command:
        return self.wish

    def committed(self) -> None: ...


@dataclass
class Party:
    clock: ManualClock = field(default_factory=ManualClock)
    hub: LocalHub = field(default_factory=LocalHub)
    sessions: list[PeerSession] = field(default_factory=list)
    pilots: list[object] = field(default_factory=list)

    def join(self, pilot: object, name: str, network: Conditions | None = None) -> PeerSession:
        session = PeerSession(lambda: LocalTransport(self.hub, name), self.clock, name=name, network=network)
        self.sessions.append(session)
        self.pilots.append(pilot)
        return session

    def run(self, frames: int) -> list[Frame]:
        for _ in range(frames):
            now = self.clock.advance(TICK)
            frames_now = [s.update(now, p) for s, p in zip(self.sessions, self.pilots, strict=True)]
        return frames_now


def ghost(frame: Frame):
    return next(avatar for avatar in frame.avatars if not avatar.me)


@pytest.mark.parametrize("motion", list(RemoteMotion))
def test_each_sees_the_other_where_he_is_once_he_rests(motion: RemoteMotion):
    party = Party()
    for seed, name in enumerate(("Zoë", "桜")):
        session = party.join(BotPilot(seed + 1, CROSSFIRE), name, Conditions(latency=0.05, jitter=0.02))
        session.techniques.set(lambda old: msgspec.structs.replace(old, remote_motion=motion))
    party.run(600)
    party.pilots[:] = [Still(), Still()]
    one, two = party.run(120)
    for here, there in ((one, two), (two, one)):
        seen, real = ghost(here), there.me
        assert math.dist((seen.x, seen.y, seen.z), (real.x, real.y, real.z)) < 0.002
        assert seen.name == real.name
    assert all(session.report().peers_seen == 1 for session in party.sessions)
    assert all(session.report().snapshots > 150 for session in party.sessions)


def test_a_key_shows_in_the_next_frame_with_nobody_there():
    party, pilot = Party(), Still()
    party.join(pilot, "Zoë", Conditions(latency=0.5))
    x = party.run(30)[0].me.x
    pilot.wish = Command(dx=127)
    assert party.run(2)[0].me.x > x


def test_emotes_arrive_once_and_who_leaves_is_gone():
    party = Party()
    one, two = party.join(Still(), "Zoë"), party.join(Still(), "桜")
    party.run(60)
    assert {person.name for person in one.presence.get().values()} == {"Zoë", "桜"}
    two.set_away(True)
    two.emote(0)
    said = [ghost(party.run(1)[0]).emote for _ in range(200)]
    assert said.count("Hello!") == pytest.approx(150, abs=4)
    assert said[-1] == ""
    assert one.presence.get()["桜"].away
    two.close()
    party.sessions.pop()
    party.pilots.pop()
    frame = party.run(2)[0]
    assert [avatar.peer_id for avatar in frame.avatars] == ["Zoë"]
    assert list(one.presence.get()) == ["Zoë"]
    assert two.status.get().link is Link.LEFT


def test_whoever_goes_silent_is_dropped_and_nobody_is_moved_by_nonsense():
    party = Party()
    one = party.join(Still(), "Zoë")
    rude = LocalTransport(party.hub, "rude")
    for junk in (
        {"t": "presence", "position": [1e308, -1e308, 1e308], "rotationY": 1e300, "meta": {"name": 5, "away": 1}},
        {"t": "presence", "position": [1, 2]},
        {"t": "event", "event": "emote", "payload": 99},
        {"t": "event", "event": "emote", "payload": "x"},
        {"t": "presence", "position": [0, 0, 0], "meta": {"name": "a\x00" * 5000}},
        {"t": "world", "players": {}},
        None,
    ):  # fmt: skip
        rude.send(junk)
        frame = party.run(1)[0]
        assert all(math.isfinite(avatar.x) and abs(avatar.x) < 30 and abs(avatar.y) < 30 for avatar in frame.avatars)
    assert len(one.presence.get()) == 2
    party.run(200)
    assert list(one.presence.get()) == ["Zoë"]


@pytest.mark.parametrize("motion", [RemoteMotion.INTERPOLATION, RemoteMotion.ADAPTIVE])
def test_whoever_stops_is_not_drawn_beyond_where_he_stands(motion: RemoteMotion):
    """Presence says little of who rests: to go on at his last speed would be wrong for as long."""
    party, walker = Party(), Still()
    watcher = party.join(Still(), "Zoë", Conditions(latency=0.05, jitter=0.02))
    party.join(walker, "桜", Conditions(latency=0.05, jitter=0.02))
    watcher.techniques.set(lambda old: msgspec.structs.replace(old, remote_motion=motion))
    x = party.run(120)[1].me.x
    for direction in (1, -1, 1, -1):
        walker.wish = Command(dx=127 * direction)
        places = [ghost(party.run(1)[0]).x for _ in range(40)]
        walker.wish = Command()
        party.run(20)
        rest = party.run(1)[1].me.x
        places += [ghost(party.run(1)[0]).x for _ in range(90)]
        assert all(min(x, rest) - 1e-3 <= place <= max(x, rest) + 1e-3 for place in places)
        assert places[-1] == pytest.approx(rest, abs=2e-3)
        x = rest


def test_adaptive_playback_is_a_constant_delay_where_only_the_arrival_is_known():
    party = Party()
    party.join(Still(), "Zoë")
    for name in ("桜", "Bo", "Cy"):
        party.join(BotPilot(len(name), CROSSFIRE), name)
    frame = party.run(300)[0]
    assert frame.diagnostics.render_delay_ms.view() == pytest.approx([120.0] * HISTORY, abs=1e-3)
    assert frame.diagnostics.buffer_depth_ms.view().min() > 0.0, "nobody is guessed, as somebody was heard since"
