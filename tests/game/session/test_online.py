"""Whole matches on one ManualClock: a real authority, real sessions, and whatever network lies between them."""

import itertools
from dataclasses import dataclass, field

import msgspec
import pytest

from game.session.base import HISTORY, Frame, Link, RemoteMotion, SessionStatus
from game.session.online import OnlineSession
from game.session.pilot import BotPilot
from game.sim.arena import CROSSFIRE
from game.sim.command import Command
from game.sim.constants import UNIT
from game.sim.state import Avatar
from game.wire import Hello, Input, State, Welcome, pack_avatar
from net.clock import ManualClock
from net.envelope import encode
from net.transport.base import ConnectionStatus, TransportState
from net.transport.conditioner import PRESETS, Conditions
from net.transport.endpoint import Endpoint
from server.authority import Authority
from server.inprocess import connect
from server.room import Room

TICK = 1 / 60


class Still:
    """A player who does what `wish` says."""

    def __init__(self) -> None:
        self.wish = Command()

    def command(self, avatar: Avatar, tick: int) -> Command:
        return self.wish

    def committed(self) -> None: ...


@dataclass
class Match:
    """An authority and its players, moved on together, frame after frame."""

    clock: ManualClock = field(default_factory=lambda: ManualClock(100.0))
    sessions: list[OnlineSession] = field(default_factory=list)
    pilots: list[object] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.authority = Authority(self.clock, lambda event, **fields: None)

    def join(
        self, pilot: object, network: Conditions | None = None, name: str = "Wren", seed: int = 1
    ) -> OnlineSession:
        peer = f"peer-{len(self.sessions)}"
        session = OnlineSession(
            lambda: connect(self.authority, "/", peer), self.clock, name=name, network=network, seed=seed
        )
        self.sessions.append(session)
        self.pilots.append(pilot)
        return session

    def run(self, frames: int, dt: float = TICK) -> list[Frame]:
        for _ in range(frames):
            now = self.clock.advance(dt)
            self.authority.tick(now)
            self.frames = [
                session.update(now, pilot) for session, pilot in zip(self.sessions, self.pilots, strict=True)
            ]
        return self.frames

    @property
    def room(self) -> Room:
        return self.authority.rooms["/"]

    def truth(self, index: int) -> Avatar:
        """What the authority has of a player; slots are given in the order of joining."""
        return self.room.crowd.avatar(index)

    def teleport(self, index: int, dx: int) -> None:
        avatar = self.truth(index)
        self.room.crowd.place(index, msgspec.structs.replace(avatar, x=avatar.x + dx))


def bots(match: Match, count: int, network: Conditions | None = None) -> None:
    for seed in range(count):
        match.join(BotPilot(seed + 1, CROSSFIRE), network, seed=seed + 1)


@pytest.mark.parametrize(
    "network",
    [
        Conditions(),
        Conditions(latency=0.08, jitter=0.04),
        Conditions(latency=0.2),
        Conditions(latency=0.2, jitter=0.1, distribution="normal"),
        Conditions(latency=0.08, jitter=0.02, loss=0.02),
        *PRESETS.values(),
    ],
)
def test_no_network_that_keeps_order_makes_a_correction(network: Conditions):
    match = Match()
    bots(match, 2, network)
    match.run(1800)
    for session in match.sessions:
        report = session.report()
        assert report.corrections == 0
        assert report.ticks > 1500
        assert report.peers_seen == 1
        assert report.snapshots > 400


def test_ten_thousand_ticks_end_in_equal_states_on_both_sides():
    match = Match()
    bots(match, 2, Conditions(latency=0.08, jitter=0.04, loss=0.01))
    match.run(10_000)
    for pilot_index, session in enumerate(match.sessions):
        session.network.set(Conditions())
        match.pilots[pilot_index] = Still()
    match.run(120)
    for index, session in enumerate(match.sessions):
        assert session.report().corrections == 0
        assert session.predicted == match.truth(index)
    seen = [{avatar.peer_id: avatar.truth for avatar in frame.avatars} for frame in match.frames]
    for peer_id, place in seen[0].items():
        assert seen[1][peer_id] == pytest.approx(place, abs=1 / 256), "the others' places are replicated to 1/256 unit"
    assert all(len(avatars) == 2 for avatars in seen)


@pytest.mark.parametrize("latency", [0.0, 0.1, 0.5])
def test_a_key_shows_in_the_very_next_frame_at_any_latency(latency: float):
    match, pilot = Match(), Still()
    match.join(pilot, Conditions(latency=latency))
    before = match.run(180, 1 / 144)[0].me
    assert before is not None
    x, yaw = before.x, before.yaw
    pilot.wish = Command(dx=127, yaw=20_000)
    after = match.run(1, 1 / 144)[0].me
    assert after is not None
    assert after.x > x
    assert after.yaw != yaw


@pytest.mark.parametrize("dt", [1 / 144, 1 / 60, 1 / 50, 1 / 240])
def test_local_motion_is_smooth_at_every_frame_rate(dt: float):
    match, pilot = Match(), Still()
    match.join(pilot, Conditions(latency=0.1, jitter=0.03))
    match.run(240)
    pilot.wish = Command(dz=-127 if match.truth(0).z > 0 else 127)
    match.run(30)
    places = []
    for _ in range(40):
        me = match.run(1, dt)[0].me
        assert me is not None
        places.append(me.z)
    steps = [abs(b - a) / dt for a, b in itertools.pairwise(places)]
    assert min(steps) == pytest.approx(max(steps), rel=1e-6)


def test_without_prediction_the_avatar_waits_for_the_server():
    match, pilot = Match(), Still()
    session = match.join(pilot, Conditions(latency=0.1))
    session.techniques.set(lambda old: msgspec.structs.replace(old, prediction=False, remote_motion=RemoteMotion.RAW))
    start = match.run(120)[0].me.x
    pilot.wish = Command(dx=127)
    assert match.run(11)[0].me.x == start
    assert match.run(8)[0].me.x > start


def test_without_reconciliation_the_avatar_is_pulled_back():
    match, pilot = Match(), Still()
    session = match.join(pilot, Conditions(latency=0.15))
    session.techniques.set(lambda old: msgspec.structs.replace(old, reconciliation=False))
    match.run(120)
    pilot.wish = Command(dz=-127 if match.truth(0).z > 0 else 127)
    places = [match.run(1)[0].me.z for _ in range(18)]
    steps = [(b - a) * pilot.wish.dz for a, b in itertools.pairwise(places)]
    assert sum(step < 0 for step in steps) >= 2, "every answer that does not know of the key yet pulls back"
    assert abs(places[-1] - places[0]) < 0.2, "and it gets nowhere until one does"
    match.run(40)
    assert session.report().corrections == 0, "and nothing is replayed"
    session.techniques.set(lambda old: msgspec.structs.replace(old, reconciliation=True))
    pilot.wish = Command()
    match.run(90)
    assert session.predicted == match.truth(0)


@pytest.mark.parametrize("motion", list(RemoteMotion))
def test_each_remote_motion_does_what_its_name_says(motion: RemoteMotion):
    match, walker = Match(), Still()
    watcher = match.join(Still())
    match.join(walker)
    watcher.techniques.set(lambda old: msgspec.structs.replace(old, remote_motion=motion))
    match.run(120)
    walker.wish = Command(dz=-127 if match.truth(1).z > 0 else 127)
    match.run(40)
    places, truths = [], []
    for _ in range(24):
        frame = match.run(1)[0]
        ghost = next(avatar for avatar in frame.avatars if not avatar.me)
        places.append(ghost.z)
        truths.append(ghost.truth[2])
    moves = sum(a != b for a, b in itertools.pairwise(places))
    behind = abs(match.truth(1).z / UNIT - places[-1])
    if motion is RemoteMotion.RAW:
        assert places == truths
        assert moves == pytest.approx(8, abs=1)
    elif motion is RemoteMotion.SMOOTHING:
        assert moves == 23
        assert 0.2 < behind < 0.9
    else:
        steps = [abs(b - a) for a, b in itertools.pairwise(places)]
        assert max(steps) == pytest.approx(min(steps), rel=0.06)
        delay = 0.12 if motion is RemoteMotion.INTERPOLATION else 0.09  # no more than a perfect network asks for
        assert behind == pytest.approx(delay * 7, abs=0.15)


@pytest.mark.parametrize("motion", [RemoteMotion.INTERPOLATION, RemoteMotion.ADAPTIVE])
@pytest.mark.parametrize("rest", range(120, 132))
def test_who_starts_after_a_pause_of_all_is_not_drawn_to_have_crept_away_during_it(rest: int, motion: RemoteMotion):
    """The last frame may be PAUSE old by then: what came in between is that nothing happened."""
    match, walker = Match(), Still()
    watcher = match.join(Still())
    match.join(walker)
    watcher.techniques.set(lambda old: msgspec.structs.replace(old, remote_motion=motion))
    match.run(rest)
    walker.wish = Command(dz=-127 if match.truth(1).z > 0 else 127)
    places = [next(avatar for avatar in match.run(1)[0].avatars if not avatar.me).z for _ in range(40)]
    moving = [step for step in (abs(b - a) for a, b in itertools.pairwise(places)) if step > 0]
    assert moving[4] > 0.03, "he gains speed from one interval, three frames, to the next"


def test_a_correction_fades_and_is_counted():
    match, pilot = Match(), Still()
    session = match.join(pilot, Conditions(latency=0.05))
    match.run(60)
    shown = match.run(1)[0].me.x
    match.teleport(0, UNIT)
    steps = []
    for _ in range(60):
        me = match.run(1)[0].me
        steps.append(me.x - shown)
        shown = me.x
    assert session.report().corrections == 1
    assert session.report().correction_max_units == pytest.approx(1.0)
    assert sum(steps) == pytest.approx(1.0, abs=0.02)
    assert max(steps) < 0.3
    assert all(step >= 0 for step in steps)


def test_people_come_into_the_store_and_leave_it():
    match = Match()
    one = match.join(Still(), name="Zoë")
    two = match.join(Still(), name="a" * 5000 + "\x00")
    heard = []
    one.presence.subscribe(lambda new, _: heard.append(sorted(person.name for person in new.values())))
    match.run(90)
    assert heard[-1] == ["Zoë", "a" * 24] or heard[-1] == sorted(["Zoë", "a" * 24])
    two.set_away(True)
    match.run(30)
    assert one.presence.get()[two.peer_id].away
    two.close()
    match.sessions.pop()
    match.pilots.pop()
    match.run(30)
    assert list(one.presence.get()) == [one.peer_id]
    assert [avatar.peer_id for avatar in match.frames[0].avatars] == [one.peer_id]


def test_a_refusal_is_shown_and_can_be_retried():
    match = Match()
    match.join(Still())
    match.run(10)
    rude = OnlineSession(lambda: connect(match.authority, "/", "peer-0"), match.clock, name="Twin")
    match.sessions.append(rude)
    match.pilots.append(Still())
    match.run(10)
    status = rude.status.get()
    assert status.link is Link.REFUSED
    assert status.detail
    match.sessions[0].close()
    match.run(5)
    rude.retry()
    match.run(30)
    assert rude.status.get().link is Link.CONNECTED


class Scripted(Endpoint):
    """A transport whose connection comes and goes as the test says."""

    reliable_ordered = True

    def __init__(self) -> None:
        super().__init__("me", TransportState.CONNECTING)
        self.sent: list[object] = []

    def send(self, data: object) -> None:
        self.sent.append(data)

    def send_bytes(self, data: bytes) -> None: ...

    def poll(self) -> None: ...

    def close(self) -> None:
        self._end()

    def turn(self, state: TransportState, **fields: object) -> None:
        self._change(ConnectionStatus(state, **fields))

    def hear(self, message: msgspec.Struct) -> None:
        self._receive(encode("server", message), binary=False)


def test_every_connection_is_greeted_anew_and_every_loss_is_told():
    clock, wire = ManualClock(), Scripted()
    session, pilot = OnlineSession(lambda: wire, clock, name="Wren"), Still()

    def frames(count: int) -> None:
        for _ in range(count):
            session.update(clock.advance(TICK), pilot)

    frames(3)
    assert session.status.get().link is Link.CONNECTING
    assert wire.sent == []
    for avatar in (Avatar(x=4096, z=4096), Avatar(x=5120, z=4096)):
        wire.sent.clear()
        wire.turn(TransportState.OPEN)
        assert [type(message) for message in wire.sent] == [Hello]
        wire.hear(Welcome(1, "me", "crossfire", 5, 60, 20.0))
        wire.hear(State(pack_avatar(avatar), 0, 5, 100.0))
        frames(4)
        assert session.status.get().link is Link.CONNECTED
        assert session.predicted.x == avatar.x
        seqs = [message.seq for message in wire.sent if isinstance(message, Input)]
        assert seqs == list(range(1, len(seqs) + 1))
        assert len(seqs) >= 3
        wire.turn(TransportState.CONNECTING, attempt=2, attempts=5, code=1006, reason="gone")
        wire.sent.clear()
        frames(20)
        assert session.status.get() == SessionStatus(Link.RECONNECTING, "gone", 2, 5)
        assert wire.sent == [], "nobody is there to hear of it"
    wire.turn(TransportState.CLOSED, code=1006, reason="gave up")
    frames(2)
    assert session.status.get().link is Link.LOST
    session.retry()
    session.close()
    session.close()
    assert session.status.get().link is Link.LEFT


def test_a_silent_server_is_told_and_nothing_runs_away():
    match, pilot = Match(), Still()
    session = match.join(pilot)
    match.run(60)
    pilot.wish = Command(dx=127)
    for _ in range(400):  # the server is there, but it has stopped
        session.update(match.clock.advance(TICK), pilot)
    assert session.report().pending_max == 128
    assert "no answer for 6 s" in session.status.get().detail or "no answer for 7 s" in session.status.get().detail
    match.run(240)
    assert session.status.get().detail == ""


def test_an_emote_is_heard_once_by_everyone_and_fades():
    match = Match()
    one, two = match.join(Still()), match.join(Still(), Conditions(latency=0.05))
    match.run(90)
    one.emote(1)
    one.emote(2)  # too soon
    spoken = []
    for _ in range(240):
        frames = match.run(1)
        spoken.append([next(a.emote for a in frame.avatars if a.peer_id == one.peer_id) for frame in frames])
    assert spoken[0][0] == "Nice one!"
    assert {heard for _, heard in spoken} == {"", "Nice one!"}
    assert [heard for _, heard in spoken].count("Nice one!") == pytest.approx(150, abs=2)
    assert spoken[-1] == ["", ""]
    assert all(avatar.emote == "" for avatar in match.frames[0].avatars if avatar.peer_id == two.peer_id)


@pytest.mark.parametrize(
    ("motion", "delay"),
    [
        (RemoteMotion.RAW, 0),
        (RemoteMotion.SMOOTHING, 0),
        (RemoteMotion.INTERPOLATION, 120),
        (RemoteMotion.ADAPTIVE, 85),
    ],
)
def test_the_render_delay_and_what_is_known_beyond_it_are_counted_each_frame(motion: RemoteMotion, delay: float):
    """On a perfect way a snapshot comes every 50 ms: adaptive playback stays 1.7 of those behind."""
    match = Match()
    watcher = match.join(Still())
    match.join(BotPilot(5, CROSSFIRE))
    watcher.techniques.set(lambda old: msgspec.structs.replace(old, remote_motion=motion))
    diagnostics = match.run(240 + 120)[0].diagnostics
    assert diagnostics.render_delay_ms.view() == pytest.approx([delay] * HISTORY, abs=2)
    depths = diagnostics.buffer_depth_ms.view()
    assert depths.max() == pytest.approx(delay, abs=3), "just after one has come"
    assert depths.min() == pytest.approx(delay - 34, abs=3), "two frames later"


def test_a_worse_network_is_answered_with_a_longer_delay_and_without_a_step_back():
    """RI-09: the walker goes one way, and so does his ghost, when jitter comes up and goes again."""
    match, walker = Match(), Still()
    watcher = match.join(Still())
    match.join(walker)
    match.run(180)
    calm = watcher.diagnostics.render_delay_ms.last
    watcher.network.set(Conditions(latency=0.05, jitter=0.045))
    match.run(300)
    rough = watcher.diagnostics.render_delay_ms.last
    assert rough > calm + 30
    towards = -1 if match.truth(1).z > 0 else 1
    walker.wish = Command(dz=127 * towards)
    places = []
    for _ in range(150):
        frame = match.run(1)[0]
        places.append(next(avatar for avatar in frame.avatars if not avatar.me).z * towards)
    steps = [b - a for a, b in itertools.pairwise(places)]
    assert sum(steps) > 5
    assert min(steps) > -1e-3
    assert max(steps) < 2.5 * 7 / 60
