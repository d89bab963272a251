"""The match on screen: hotkeys to stores, devices to the session, its frame to the view."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec
import pygame

from game.controls.gamepad import Gamepad
from game.controls.held import Held
from game.controls.human import HumanPilot
from game.session.base import Frame, Link, Pilot, RemoteMotion, Role, Session
from game.session.pilot import BotPilot
from game.view.overlay import Overlay
from game.view.play import PlayView
from net.store import Store
from net.transport.conditioner import PRESETS, Conditions

LATENCY_STEP: Final = 0.02
"""seconds, one way"""
LATENCY_MOST: Final = 0.5
CUSTOM: Final = "custom"


class PlayScene:
    """One match from joining to leaving."""

    def __init__(self, session: Session, title: str, bot_seed: int, *, autopilot: bool = False) -> None:
        self._session = session
        self._overlay: Store[Overlay] = Store(Overlay(title=title, graph=True, authority=session.role is not Role.PEER))
        self._human = HumanPilot(Held(), Gamepad())
        self._bot = BotPilot(bot_seed, session.arena)
        self._pilot: Pilot = self._bot if autopilot else self._human
        self._mouse_seen = False
        self._frame: Frame | None = None
        self._view = PlayView(session.arena, session.presence, session.status, session.techniques, self._overlay)
        self._unsubscribe = session.network.subscribe(lambda new, _: self._show_network(new))
        self._show_network(session.network.get())
        self.over = False
        self._hotkeys: dict[int, Callable[[bool], None]] = {
            pygame.K_F1: lambda _: self._flip("help", None),
            pygame.K_F2: lambda _: self._toggle_prediction(),
            pygame.K_F3: lambda _: self._toggle_reconciliation(),
            pygame.K_F4: lambda _: self._next_motion(),
            pygame.K_F5: lambda _: self._flip("truth", "Outlines of what has arrived"),
            pygame.K_F6: lambda _: self._flip("graph", "Net graph"),
            pygame.K_F7: lambda _: self._next_preset(),
            pygame.K_F8: self._change_latency,
            pygame.K_F9: lambda _: self._toggle_autopilot(),
            **{key: partial(self._emote, i) for i, key in enumerate((pygame.K_1, pygame.K_2, pygame.K_3, pygame.K_4))},
            pygame.K_r: lambda _: self._retry(),
            pygame.K_ESCAPE: lambda _: self._leave(),
        }

    @property
    def view(self) -> PlayView:
        """What this scene draws with."""
        return self._view

    def resize(self, surface: pygame.Surface) -> None:
        """The window has another size now."""
        self._view.resize(surface)

    def handle(self, event: pygame.event.Event) -> None:
        """Take in one event."""
        self._human.feed(event)
        if event.type == pygame.KEYDOWN and (action := self._hotkeys.get(event.key)) is not None:
            action(bool(event.mod & pygame.KMOD_SHIFT))
        elif event.type == pygame.MOUSEMOTION:
            self._mouse_seen = True
        elif event.type in (pygame.WINDOWFOCUSLOST, pygame.WINDOWMINIMIZED):
            self._session.set_away(True)
        elif event.type == pygame.WINDOWFOCUSGAINED:
            self._session.set_away(False)

    def update(self, now: float, surface: pygame.Surface, dt: float, work_ms: float) -> None:
        """Run the match up to `now` and draw it; `work_ms` is what the last frame's work took."""
        if self._mouse_seen:
            self._human.aim_at(self._view.ground_at(pygame.mouse.get_pos()))
        frame = self._session.update(now, self._pilot)
        frame.diagnostics.frame_ms.add(work_ms)
        self._frame = frame
        self._view.draw(surface, frame, dt)

    def describe(self) -> dict[str, Any]:
        """What the window shows now, for logs and tests: where every avatar is, in units and in pixels."""
        frame = self._frame
        status = self._session.status.get()
        techniques = self._session.techniques.get()
        return {
            "event": "frame",
            "window": pygame.display.get_wm_info().get("window"),
            "size": list(pygame.display.get_window_size()),
            "link": status.link,
            "detail": status.detail,
            "prediction": techniques.prediction,
            "reconciliation": techniques.reconciliation,
            "remote_motion": techniques.remote_motion,
            **msgspec.to_builtins(self._overlay.get()),
            "avatars": {
                avatar.peer_id: {
                    "name": avatar.name,
                    "me": avatar.me,
                    "emote": avatar.emote,
                    "at": [avatar.x, avatar.y, avatar.z],
                    "truth": avatar.truth and list(avatar.truth[:3]),
                    "pixel": list(self._view.project(avatar.x, avatar.y, avatar.z)),
                }
                for avatar in (frame.avatars if frame else ())
            },
        }

    def close(self) -> None:
        """Leave the match."""
        self._unsubscribe()
        self._view.close()
        self._session.close()

    # -- hotkeys

    def _leave(self) -> None:
        if self._overlay.get().help:
            self._flip("help", None)
        else:
            self.over = True

    def _flip(self, field: str, label: str | None) -> None:
        on = not getattr(self._overlay.get(), field)
        self._overlay.set(lambda old: msgspec.structs.replace(old, **{field: on}))
        if label:
            self._view.toast(f"{label} {_on(on)}")

    def _toggle_technique(self, field: str, label: str, without: str) -> None:
        """Switch one of the techniques that need an authority; `without` says what the player will see without it."""
        if self._session.role is Role.PEER:
            self._view.toast("There is no server here: everyone simulates himself")
            return
        on = not getattr(self._session.techniques.get(), field)
        self._session.techniques.set(lambda old: msgspec.structs.replace(old, **{field: on}))
        self._view.toast(f"{label} {_on(on)}" + ("" if on else f": {without}"))

    def _toggle_prediction(self) -> None:
        self._toggle_technique("prediction", "Prediction", "you wait for the server")

    def _toggle_reconciliation(self) -> None:
        self._toggle_technique("reconciliation", "Reconciliation", "the server's old state pulls you back")

    def _next_motion(self) -> None:
        modes = list(RemoteMotion)
        motion = modes[(modes.index(self._session.techniques.get().remote_motion) + 1) % len(modes)]
        self._session.techniques.set(lambda old: msgspec.structs.replace(old, remote_motion=motion))
        self._view.toast(f"Remote motion: {motion}")

    def _next_preset(self) -> None:
        names = list(PRESETS)
        now = self._overlay.get().preset
        name = names[(names.index(now) + 1) % len(names)] if now in names else names[0]
        self._session.network.set(PRESETS[name])
        self._view.toast(f"Network: {name}")

    def _change_latency(self, less: bool) -> None:
        step = -LATENCY_STEP if less else LATENCY_STEP
        latency = max(0.0, min(LATENCY_MOST, self._session.network.get().latency + step))
        self._session.network.set(lambda old: msgspec.structs.replace(old, latency=latency))
        self._view.toast(f"Latency {latency * 1000:.0f} ms each way")

    def _show_network(self, network: Conditions) -> None:
        name = next((name for name, preset in PRESETS.items() if preset == network), CUSTOM)
        self._overlay.set(lambda old: msgspec.structs.replace(old, preset=name, latency_ms=network.latency * 1000))

    def _toggle_autopilot(self) -> None:
        self._pilot = self._human if self._pilot is self._bot else self._bot
        self._view.toast(f"Autopilot {_on(self._pilot is self._bot)}")

    def _emote(self, index: int, _shift: bool) -> None:
        self._session.emote(index)

    def _retry(self) -> None:
        if self._session.status.get().link in (Link.LOST, Link.REFUSED):
            self._session.retry()


def _on(on: bool) -> str:
    return "on" if on else "off"
