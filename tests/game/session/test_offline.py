"""Play without a network: the server lives in this program, on the player's own time."""

import pytest

from game.session.base import Link, Role
from game.session.offline import OfflineSession
from game.session.pilot import BotPilot
from game.sim.arena import CROSSFIRE
from net.clock import ManualClock
from net.transport.conditioner import Conditions
from server.local import LocalServer

TICK = 1 / 60


def start(network: Conditions | None = None, bots: int = 5) -> tuple[ManualClock, OfflineSession]:
    clock = ManualClock(7.0)
    return clock, OfflineSession(LocalServer(clock, bots=bots), clock, name="Ada", network=network)


@pytest.mark.parametrize("network", [Conditions(), Conditions(latency=0.1, jitter=0.05, loss=0.02)])
@pytest.mark.parametrize("dt", [TICK, 1 / 144, 1 / 25])
def test_offline_is_the_same_match_with_bots(network: Conditions, dt: float):
    clock, session = start(network)
    pilot = BotPilot(3, CROSSFIRE)
    for _ in range(round(20 / dt)):
        frame = session.update(clock.advance(dt), pilot)
    assert session.role is Role.OFFLINE
    assert session.status.get().link is Link.CONNECTED
    assert {avatar.name for avatar in frame.avatars} == {"Ada", *(f"Bot {number}" for number in range(1, 6))}
    report = session.report()
    assert report.ticks > 19 * 60
    assert report.distance_units > 20
    assert report.corrections == 0
    assert report.peers_seen == 5


def test_a_match_that_was_left_is_over_and_a_pause_is_not_caught_up_with():
    clock, session = start(bots=1)
    pilot = BotPilot(3, CROSSFIRE)
    for _ in range(120):
        session.update(clock.advance(TICK), pilot)
    ticks = session.report().ticks
    clock.advance(30.0)
    for _ in range(60):
        session.update(clock.advance(TICK), pilot)
    assert session.report().ticks - ticks < 80, "half a minute in which nothing ran is no half minute of game"
    assert session.report().corrections == 0
    assert session.status.get().link is Link.CONNECTED
    session.close()
    session.update(clock.advance(TICK), pilot)
    assert session.status.get().link is Link.LEFT
