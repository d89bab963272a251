from __future__ import annotations

import copy
import math

import pygame
import pytest

from game.session.base import AvatarFrame, Diagnostics, Frame, Link, RemoteMotion, SessionStatus, Techniques
from game.sim.arena import CROSSFIRE
from game.sim.constants import UNIT
from game.view.banner import explanation, headline
from game.view.overlay import Overlay
from game.view.play import PlayView
from game.wire import Person
from net.store import Store
from net.transport.base import Traffic

DT = 1 / 60
SIZE = (960, 540)


class Table:
    """A view with the stores that feed it, and a surface."""

    def __init__(self, size: tuple[int, int] = SIZE) -> None:
        self.presence: Store[dict[str, Person]] = Store({})
        self.status = Store(SessionStatus(Link.CONNECTED))
        self.techniques = Store(Techniques())
        self.overlay = Store(Overlay(graph=False))
        self.view = PlayView(CROSSFIRE, self.presence, self.status, self.techniques, self.overlay)
        self.surface = pygame.Surface(size).convert()
        self.view.resize(self.surface)

    def draw(self, *avatars: AvatarFrame, times: int = 1, dt: float = DT) -> bytes:
        me = next((avatar for avatar in avatars if avatar.me), None)
        for _ in range(times):
            self.view.draw(self.surface, Frame(0.0, 0, list(avatars), me, Diagnostics(), Traffic()), dt)
        return pygame.image.tobytes(self.surface, "RGB")

    def paints(self) -> dict[str, int]:
        return {name: panel.paints for name, panel in self.view.panels.items()}


@pytest.fixture
def table() -> Table:
    return Table()


def me(x: float = 0.0, z: float = 3.0, **more: object) -> AvatarFrame:
    return AvatarFrame("me", "Ann", "#22d3ee", me=True, x=x, z=z, **more)  # type: ignore[arg-type]


def other(x: float = 2.0, z: float = 3.0, **more: object) -> AvatarFrame:
    return AvatarFrame("other", "Ben", "#fbbf24", x=x, z=z, **more)  # type: ignore[arg-type]


def test_drawing_never_changes_the_frame(table: Table) -> None:
    avatars = [me(yaw=1.0, truth=(0.5, 0.0, 3.0, 1.0)), other(y=1.2, dashing=True), other(away=True)]
    avatars[2].peer_id = "third"
    table.overlay.set(Overlay(True, True, True))
    diagnostics = Diagnostics()
    for i in range(100):
        diagnostics.rtt_ms.add(float(i))
    frame = Frame(1.5, 90, avatars, avatars[0], diagnostics, Traffic(1, 2, 3, 4, 5))
    before = copy.deepcopy(frame)
    order = list(frame.avatars)
    for _ in range(5):
        table.view.draw(table.surface, frame, DT)
    assert frame.avatars == before.avatars
    assert all(a is b for a, b in zip(frame.avatars, order, strict=True))
    assert (frame.now, frame.tick, frame.traffic) == (before.now, before.tick, before.traffic)
    assert (frame.diagnostics.rtt_ms.view() == before.diagnostics.rtt_ms.view()).all()


def test_the_mouse_points_at_units(table: Table) -> None:
    for x, z, y in ((0.0, 3.0, 0.0), (-19.0, -12.0, 1.4), (17.0, 12.0, 0.3)):
        table.draw(me(x, z, y=y), times=3)
        for point in ((x, z), (3.0, -2.0), (-7.5, 11.0)):
            at = table.view.project(point[0], table.view.aim_height, point[1])
            assert table.view.ground_at(at) == pytest.approx(point, abs=1e-6)


def test_an_avatar_is_drawn_where_project_says(table: Table) -> None:
    empty = table.draw(me(0.0, 3.0), times=120)
    table.draw(me(0.0, 3.0), other(6.5, 3.0), times=2)
    x, y = (round(v) for v in table.view.project(6.5, 0.9, 3.0))
    color = table.surface.get_at((x, y))
    assert color.r > 100
    assert color.r > 2 * color.b
    offset = (y * SIZE[0] + x) * 3
    assert empty[offset] < 80


def chest(table: Table, avatar: AvatarFrame) -> pygame.Color:
    return table.surface.get_at([round(v) for v in table.view.project(avatar.x, avatar.y + 0.5, avatar.z)])


def test_walls_hide_what_is_behind_and_not_what_is_in_front(table: Table) -> None:
    """The block in the middle spans z -1.2 to 1.2 and is 1.5 high."""
    block = CROSSFIRE.blocks[0]
    behind = other(0.0, block.top / UNIT - 0.45, yaw=-math.pi / 2)
    table.draw(behind, times=2)
    assert chest(table, behind).r < 110
    before = other(0.0, block.bottom / UNIT + 0.45, yaw=-math.pi / 2)
    table.draw(before, times=2)
    assert chest(table, before).r > 150


def test_the_nearer_avatar_covers_the_farther_one_whatever_their_order(table: Table) -> None:
    near, far = me(0.0, 4.4, yaw=-math.pi / 2), other(0.0, 4.0, yaw=-math.pi / 2)
    for pair in ((near, far), (far, near)):
        table.draw(*pair, times=60)
        color = chest(table, near)
        assert color.b > color.r
        x, y = (round(v) for v in table.view.project(far.x, 1.62, far.z))
        assert table.surface.get_at((x, y)).r > table.surface.get_at((x, y)).b


def test_the_own_avatar_is_outlined_behind_a_wall(table: Table) -> None:
    block = CROSSFIRE.blocks[0]
    hidden = me(0.0, block.top / UNIT - 0.42, yaw=-math.pi / 2)
    table.draw(hidden, times=2)
    x, y = table.view.project(hidden.x, 0.0, hidden.z)
    column = [table.surface.get_at((round(x), round(y) + dy)) for dy in range(-2, 8)]
    assert any(color.g > 150 and color.b > 150 for color in column)


def test_a_jump_raises_the_body_and_leaves_the_shadow(table: Table) -> None:
    table.draw(me(0.0, 5.0), other(5.0, 5.0, y=1.4), times=3)
    avatar = other(5.0, 5.0, y=1.4)
    assert chest(table, avatar).r > 100
    foot = table.surface.get_at([round(v) for v in table.view.project(5.4, 0.0, 5.0)])
    table.draw(me(0.0, 5.0), times=200)
    bare = table.surface.get_at([round(v) for v in table.view.project(5.4, 0.0, 5.0)])
    assert tuple(foot)[:3] != tuple(bare)[:3]


def test_truth_is_outlined_only_when_asked(table: Table) -> None:
    avatars = me(0.0, 4.0), other(3.0, 4.0, truth=(5.0, 0.0, 4.0, 0.0))
    without = table.draw(*avatars, times=40)
    table.overlay.set(Overlay(graph=False, truth=True))
    table.draw(*avatars, times=2)
    anchor = table.view.project(5.0, 0.0, 4.0)
    left = round(anchor[0] - 0.4 * 30) + 1
    line = [table.surface.get_at((left + dx, round(anchor[1]) - 15)) for dx in range(-2, 3)]
    assert max(color.r for color in line) > 200
    table.overlay.set(Overlay(graph=False, truth=False))
    assert table.draw(*avatars, times=40) == without


def test_dashing_leaves_afterimages(table: Table) -> None:
    def run(dashing: bool) -> set[tuple[int, int, int]]:
        scene = Table()
        for i in range(8):
            scene.draw(me(0.0, 8.0), other(2.0 + 0.3 * i, 4.0, dashing=dashing))
        return {tuple(scene.surface.get_at([round(v) for v in scene.view.project(3.0, 1.0, 4.0)]))[:3]}  # type: ignore[misc]

    assert run(True) != run(False)


def test_presence_is_followed_by_subscription(table: Table) -> None:
    table.presence.set({"me": Person("Ann", "#22d3ee", 12.0)})
    table.draw(me())
    painted = table.paints()["Roster"]
    table.draw(me(), times=30)
    assert table.paints()["Roster"] == painted, "nothing changed, so nothing is painted again"
    table.presence.set({"me": Person("Ann", "#22d3ee", 12.0), "b": Person("Ben", "#fbbf24", None, True)})
    table.draw(me())
    assert table.paints()["Roster"] == painted + 1
    assert [peer for peer, _ in table.view.panels["Roster"].rows] == ["me", "b"]  # type: ignore[attr-defined]


def test_the_roster_puts_the_own_name_first_and_counts_the_rest(table: Table) -> None:
    people = {f"p{i}": Person(f"P{i}", "#ffffff") for i in range(40)}
    table.presence.set({**people, "me": Person("Ann", "#22d3ee")})
    table.draw(me())
    rows = table.view.panels["Roster"].rows  # type: ignore[attr-defined]
    assert rows[0][0] == "me"
    assert 3 <= len(rows) < 41
    roster, legend = (table.view.panels[name].rect for name in ("Roster", "Legend"))
    assert not roster.colliderect(legend)


def test_the_legend_follows_techniques_and_overlay(table: Table) -> None:
    table.draw(me())
    legend = table.view.panels["Legend"]
    painted = legend.paints
    table.techniques.set(Techniques(False, True, RemoteMotion.SMOOTHING))
    table.overlay.set(Overlay(preset="satellite", latency_ms=80.0))
    table.draw(me())
    assert legend.paints == painted + 1
    shown = {key: stands for key, _, stands in legend.rows}  # type: ignore[attr-defined]
    assert shown == {
        "F2": False, "F3": True, "F4": "smoothing", "F5": False, "F6": True, "F7": "satellite", "F8": "+80 ms",
    }  # fmt: skip


def test_close_unsubscribes(table: Table) -> None:
    table.draw(me())
    table.view.close()
    table.view.close()
    table.presence.set({"x": Person("X", "#ffffff")})
    table.status.set(SessionStatus(Link.LOST))
    table.techniques.set(Techniques(False))
    assert table.view.panels["Roster"].people == {}  # type: ignore[attr-defined]
    assert not table.view.panels["Banner"].shown  # type: ignore[attr-defined]
    assert table.view.panels["Legend"].rows[0][2] is True  # type: ignore[attr-defined]


def test_stores_may_change_before_the_first_resize() -> None:
    presence: Store[dict[str, Person]] = Store({})
    view = PlayView(CROSSFIRE, presence, Store(SessionStatus()), Store(Techniques()), Store(Overlay()))
    presence.set({"a": Person("A", "#ffffff")})
    view.toast("early")
    view.resize(pygame.Surface(SIZE).convert())
    assert set(view.panels["Roster"].people) == {"a"}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("status", "first", "then"),
    [
        (SessionStatus(Link.CONNECTING, where="ws://a/"), "Connecting", "ws://a/"),
        (SessionStatus(Link.RECONNECTING, "", 2, 3), "try 2 of 3", "lost"),
        (SessionStatus(Link.REFUSED, "the room is full"), "refused", "the room is full"),
        (SessionStatus(Link.LOST, "timed out"), "lost", "Press R"),
        (SessionStatus(Link.LEFT), "left", ""),
    ],
)
def test_every_state_but_connected_has_a_banner(table: Table, status: SessionStatus, first: str, then: str) -> None:
    quiet = table.draw(me(), times=40)
    table.status.set(status)
    assert table.draw(me()) != quiet
    banner = table.view.panels["Banner"]
    assert banner.shown  # type: ignore[attr-defined]
    assert first in headline(status)
    assert then in " ".join(explanation(status))
    assert abs(banner.rect.centerx - SIZE[0] // 2) <= 1
    table.status.set(SessionStatus(Link.CONNECTED))
    assert not banner.shown  # type: ignore[attr-defined]


def test_panels_give_way_to_the_own_avatar(table: Table) -> None:
    table.draw(me(0.0, 3.0), times=60)
    legend = table.view.panels["Legend"]
    spot = legend.rect.center
    solid = table.surface.get_at(spot)
    corner = me(-19.0, 12.0)
    table.draw(corner, times=60)
    assert legend._alpha < 100
    table.draw(me(0.0, 3.0), times=120)
    assert legend._alpha == 255
    assert table.surface.get_at(spot) == solid


def test_toasts_stack_fade_and_go(table: Table) -> None:
    for i in range(6):
        table.view.toast(f"message {i}")
    table.view.toast("message 4")
    table.draw(me())
    assert table.view._toasts.texts == ["message 2", "message 3", "message 5", "message 4"]
    table.draw(me(), times=4, dt=1.0)
    assert table.view._toasts.texts == []


def test_players_who_left_are_forgotten(table: Table) -> None:
    for i in range(50):
        avatar = AvatarFrame(f"p{i}", "x", "#ffffff", x=i * 0.1)
        table.draw(me(), avatar)
    assert table.view._scene is not None
    assert len(table.view._scene._memories) == 2


@pytest.mark.parametrize("name", ["", "\0", "\ud800", "x" * 5000, "😀", "שלום", "e" + "\u0301" * 400])
def test_hostile_names_and_colours_are_drawn(table: Table, name: str) -> None:
    avatar = AvatarFrame("\ud800", name, "nonsense", x=2.0, z=2.0, truth=(1e9, 0.0, -1e9, 0.0))
    table.presence.set({"\ud800": Person(name, "nonsense", math.inf)})
    table.status.set(SessionStatus(Link.REFUSED, name, where=name))
    table.overlay.set(Overlay(truth=True, preset=name, title=name))
    table.view.toast(name)
    table.draw(me(), avatar, times=2)


@pytest.mark.parametrize("size", [(1280, 720), (800, 900), (320, 240), (1601, 533)])
def test_any_window_size_is_filled_to_the_edge(size: tuple[int, int]) -> None:
    table = Table(size)
    table.overlay.set(Overlay(help=True, graph=True))
    table.presence.set({f"p{i}": Person(f"P{i}", "#ffffff") for i in range(30)})
    for spot in ((-19.5, -12.5), (19.5, 12.5), (0.0, 3.0)):
        table.surface.fill((255, 0, 255))
        table.draw(me(*spot), times=2, dt=1.0)
        for corner in ((0, 0), (size[0] - 1, 0), (0, size[1] - 1), (size[0] - 1, size[1] - 1)):
            assert tuple(table.surface.get_at(corner))[:3] != (255, 0, 255)


def test_resize_keeps_what_the_stores_say(table: Table) -> None:
    table.presence.set({"me": Person("Ann", "#22d3ee")})
    table.status.set(SessionStatus(Link.LOST))
    table.draw(me())
    table.surface = pygame.Surface((640, 360)).convert()
    table.view.resize(table.surface)
    table.draw(me())
    assert set(table.view.panels["Roster"].people) == {"me"}  # type: ignore[attr-defined]
    assert table.view.panels["Banner"].shown  # type: ignore[attr-defined]


def test_no_avatars_at_all(table: Table) -> None:
    table.draw(times=3)
    assert table.view.ground_at(table.view.project(1.0, table.view.aim_height, 1.0)) == pytest.approx((1.0, 1.0))
