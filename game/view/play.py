"""The picture of a match: what the scene shows, and the panels over it."""

from __future__ import annotations

from collections.abc import Callable

import pygame

from game.session.base import Frame, SessionStatus, Techniques
from game.sim.arena import Arena
from game.view.banner import Banner
from game.view.header import Header
from game.view.help import Help
from game.view.legend import Legend
from game.view.netgraph import NetGraph
from game.view.overlay import Overlay
from game.view.panel import Panel
from game.view.roster import Roster
from game.view.scene import CHEST, Scene
from game.view.text import Lettering
from game.view.theme import Theme
from game.view.toast import Toasts
from game.wire import Person
from net.store import Store


class PlayView:
    """Draws Frames. Hears of everything that isn't motion through the stores' subscriptions, until `close`.

    Call `resize` first, and again (debounced: it paints all art anew) when the window's size has changed.
    """

    def __init__(
        self,
        arena: Arena,
        presence: Store[dict[str, Person]],
        status: Store[SessionStatus],
        techniques: Store[Techniques],
        overlay: Store[Overlay],
    ) -> None:
        self._arena = arena
        self._presence = presence
        self._status = status
        self._techniques = techniques
        self._overlay = overlay
        self._me = ""
        self._aim_height = CHEST
        self._toasts = Toasts()
        self._scene: Scene | None = None
        self._unsubscribe: list[Callable[[], None]] = [
            presence.subscribe(lambda _new, _old: self._show_people()),
            status.subscribe(lambda _new, _old: self._show_status()),
            techniques.subscribe(lambda _new, _old: self._show_switches()),
            overlay.subscribe(lambda _new, _old: self._show_switches()),
        ]

    def resize(self, surface: pygame.Surface) -> None:
        """Paint all art for the size of `surface`."""
        theme = self._theme = Theme(*surface.get_size())
        lettering = self._lettering = Lettering(theme.ui)
        self._scene = Scene(self._arena, theme, lettering)
        self._header = Header(theme, lettering)
        self._roster = Roster(theme, lettering)
        self._legend = Legend(theme, lettering)
        self._graph = NetGraph(theme, lettering)
        self._banner = Banner(theme, lettering)
        self._help = Help(theme, lettering)
        self._toasts.repaint()
        self._show_people()
        self._show_status()
        self._show_switches()

    @property
    def panels(self) -> dict[str, Panel]:
        """The panels by name."""
        named = (self._header, self._roster, self._legend, self._graph, self._banner, self._help)
        return {type(panel).__name__: panel for panel in named}

    def draw(self, surface: pygame.Surface, frame: Frame, dt: float) -> None:
        """Draw `frame`, `dt` seconds after the one before, on a surface of the size last given to `resize`."""
        assert self._scene is not None, "resize comes first"
        overlay = self._overlay.get()
        me = frame.me
        self._notice_me(me.peer_id if me is not None else self._me)
        self._aim_height = CHEST + (me.y if me is not None else 0.0)
        own = self._scene.draw(surface, frame, dt, overlay.truth)
        self._header.count(dt)
        self._header.draw(surface, dt, own)
        self._roster.draw(surface, dt, own)
        self._legend.draw(surface, dt, own)
        if overlay.graph:
            self._graph.track(frame.diagnostics, dt)
            self._graph.draw(surface, dt, own)
        if self._banner.shown:
            self._banner.draw(surface, dt, own)
        if overlay.help:
            self._help.draw(surface, dt, own)
        self._toasts.draw(surface, self._theme, self._lettering, dt)

    def toast(self, text: str) -> None:
        """Show a short message for a moment."""
        self._toasts.add(text)

    def project(self, x: float, y: float, z: float) -> tuple[float, float]:
        """Where a point in units was on screen in the last frame."""
        assert self._scene is not None, "resize comes first"
        return self._scene.camera.project(x, y, z)

    def ground_at(self, position: tuple[float, float]) -> tuple[float, float]:
        """(x, z) in units under a screen position, at the height of the own avatar's chest in the last frame."""
        assert self._scene is not None, "resize comes first"
        return self._scene.camera.ground_at(position, self._aim_height)

    @property
    def aim_height(self) -> float:
        """Units above the ground of the plane that `ground_at` looks at."""
        return self._aim_height

    def close(self) -> None:
        """Stop listening to the stores. Safe to call twice."""
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        self._unsubscribe.clear()

    def _notice_me(self, peer_id: str) -> None:
        if peer_id != self._me:
            self._me = peer_id
            self._show_people()

    def _show_people(self) -> None:
        if self._scene is not None:
            self._roster.show(self._presence.get(), self._me)
            self._show_header()

    def _show_status(self) -> None:
        if self._scene is not None:
            self._banner.show(self._status.get())
            self._show_header()

    def _show_switches(self) -> None:
        if self._scene is not None:
            self._legend.show(self._techniques.get(), self._overlay.get())
            self._show_header()

    def _show_header(self) -> None:
        self._header.show(self._overlay.get().title, len(self._presence.get()), self._status.get())
