"""Ghosts, rows RR-01 to RR-07: how somebody else's avatar is drawn."""

import math

import pytest

from game.session.base import RemoteMotion
from game.session.ghost import SNAP, Ghost, Pose
from game.session.peer import PeerSession
from game.sim.command import Command
from game.sim.state import Avatar
from net.clock import ManualClock
from net.presence import LocalPresence, PresenceSync
from net.sync.playback import Playback
from net.transport.local import LocalHub, LocalTransport


def pose(x: float, yaw: float = 0.0) -> Pose:
    return Pose(x, 0.0, 0.0, yaw, False)


@pytest.mark.parametrize("motion", list(RemoteMotion))
def test_rr01_whoever_is_new_stands_where_he_is_at_once(motion: RemoteMotion):
    ghost = Ghost(Playback())
    assert ghost.pose(motion, 10.0, 1 / 60) is None
    ghost.push(10.0, pose(40.0, 2.0))
    assert ghost.pose(motion, 10.0, 1 / 60) == pose(40.0, 2.0)


def test_rr02_smoothing_looks_the_same_at_every_frame_rate():
    """Better than RR-02, where a fixed share of the distance each frame makes it a matter of the screen."""
    places = []
    for frames in (6, 15, 30, 72):
        ghost = Ghost(Playback())
        ghost.push(0.0, pose(0.0))
        ghost.pose(RemoteMotion.SMOOTHING, 0.0, 0.0)
        ghost.push(0.1, pose(2.0))
        for _ in range(frames):
            shown = ghost.pose(RemoteMotion.SMOOTHING, 0.1, 0.3 / frames)
        assert shown is not None
        places.append(shown.x)
    assert places == pytest.approx([places[0]] * 4, rel=1e-9)
    assert 1.9 < places[0] < 2.0


def test_rr03_it_turns_by_the_short_way():
    ghost = Ghost(Playback())
    ghost.push(0.0, pose(0.0, 3.0))
    ghost.pose(RemoteMotion.SMOOTHING, 0.0, 0.0)
    ghost.push(0.1, pose(0.0, -3.0))
    for _ in range(100):
        shown = ghost.pose(RemoteMotion.SMOOTHING, 0.1, 0.01)
        assert shown is not None
        assert math.cos(shown.yaw) < -0.98, "never through 0, the long way"
    assert math.cos(shown.yaw + 3.0) == pytest.approx(1.0)


def test_rr04_a_sample_is_shown_as_it_is_and_before_the_first_the_newest():
    ghost = Ghost(Playback())
    ghost.push(10.0, pose(0.0))
    ghost.push(10.1, pose(1.0))
    assert ghost.pose(RemoteMotion.INTERPOLATION, 10.1, 1 / 60) == pose(1.0)
    sampled = ghost.pose(RemoteMotion.INTERPOLATION, 10.17, 1 / 60)
    assert sampled is not None
    assert sampled.x == pytest.approx(0.5)


@pytest.mark.parametrize("motion", list(RemoteMotion))
def test_a_jump_is_not_glided_over(motion: RemoteMotion):
    playback = Playback()
    ghost = Ghost(playback)
    seen = set()
    for tick in range(30):
        playback.hear(tick / 20, tick / 20)
        playback.advance(tick / 20)
        ghost.push(tick / 20, pose(0.0 if tick < 15 else SNAP + 1))
        shown = ghost.pose(motion, tick / 20, 1 / 20)
        assert shown is not None
        seen.add(shown.x)
    assert seen == {0.0, SNAP + 1}


class Nobody:
    def command(self, avatar: Avatar, tick: int) -> Command:
        return Command()

    def committed(self) -> None: ...


class Party:
    """Our session, and a peer that tells what a test says."""

    def __init__(self) -> None:
        self.clock, self.hub = ManualClock(), LocalHub()
        self.session = PeerSession(lambda: LocalTransport(self.hub, "me"), self.clock, name="Zoë")
        self.x, self.name = 1.0, "桜"
        self.peer = PresenceSync(LocalTransport(self.hub, "peer"), self.tell, self.clock)
        self.news: list[object] = []

    def tell(self) -> LocalPresence:
        return LocalPresence((self.x, 0.0, 0.0), meta={"name": self.name})

    def run(self, seconds: float) -> float | None:
        """Where the peer is drawn at the end."""
        for _ in range(round(seconds * 60)):
            now = self.clock.advance(1 / 60)
            self.peer.update()
            frame = self.session.update(now, Nobody())
        return next((avatar.x for avatar in frame.avatars if avatar.peer_id == "peer"), None)


def test_rr05_who_is_here_is_no_news_while_nobody_comes_or_goes():
    party = Party()
    party.peer.start()
    party.run(0.5)
    party.session.presence.subscribe(lambda new, old: party.news.append(new))
    for _ in range(20):
        party.x += 0.1
        party.run(0.1)
    assert party.news == []


def test_rr06_a_new_name_is_drawn_in_the_next_frame():
    """Better than RR-06, where it stays what it was when the peer came."""
    party = Party()
    party.peer.start()
    party.run(0.5)
    assert party.session.presence.get()["peer"].name == "桜"
    party.name = "Борис"
    party.run(0.2)
    assert party.session.presence.get()["peer"].name == "Борис"


@pytest.mark.parametrize("motion", list(RemoteMotion))
def test_rr07_whoever_comes_back_is_placed_again(motion: RemoteMotion):
    party = Party()
    party.session.techniques.set(lambda old: type(old)(remote_motion=motion))
    party.peer.start()
    assert party.run(0.5) == 1.0
    party.peer.stop()
    assert party.run(0.1) is None
    party.x = 3.0
    party.peer.start()
    assert party.run(1 / 60) == 3.0, "and not on the way from where it was"
