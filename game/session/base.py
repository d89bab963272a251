"""What a match looks like to one player: `Session` runs it, `Frame` is all that may be drawn of it now."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Final, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from game.sim.arena import Arena
from game.sim.command import Command
from game.sim.state import Avatar
from game.wire import Person
from net.store import Store
from net.transport.base import Traffic
from net.transport.conditioner import Conditions


class Pilot(Protocol):
    """Who plays: devices or a bot."""

    def command(self, avatar: Avatar, tick: int) -> Command:
        """What the player wants in `tick`. May be asked several times a tick, and changes nothing."""
        ...

    def committed(self) -> None:
        """The command was simulated and sent: a key that was only tapped has had its effect."""
        ...


class RemoteMotion(StrEnum):
    """How avatars of others are drawn between snapshots (F4)."""

    RAW = "raw"
    """every snapshot as it arrives"""
    SMOOTHING = "exponential smoothing"
    INTERPOLATION = "snapshot interpolation"
    ADAPTIVE = "adaptive playback"
    """in the sender's time, as far behind as the network's lateness asks for"""


class Techniques(msgspec.Struct, frozen=True):
    """Which netcode techniques are on."""

    prediction: bool = True
    reconciliation: bool = True
    remote_motion: RemoteMotion = RemoteMotion.ADAPTIVE


class Link(StrEnum):
    """The connection to the match, as a player would put it."""

    CONNECTING = "connecting"
    CONNECTED = "connected"
    RECONNECTING = "reconnecting"
    REFUSED = "refused"
    LOST = "lost"
    """given up; `retry` tries again"""
    LEFT = "left"


class Role(StrEnum):
    """Who owns the truth of a match, seen from here."""

    OFFLINE = "offline"
    """an authority in this very program, for its player alone"""
    HOST = "listen server"
    """an authority in this very program, for others too"""
    CLIENT = "dedicated server"
    """an authority that is somewhere else"""
    PEER = "no authority"
    """everyone owns himself"""


class SessionStatus(msgspec.Struct, frozen=True):
    """The connection, and what there is to say about it."""

    link: Link = Link.CONNECTING
    detail: str = ""
    """why: a sentence for the player, may be empty"""
    attempt: int = 0
    attempts: int = 0
    where: str = ""
    """what this session is connected to, for example ws://127.0.0.1:8788/"""


@dataclass(slots=True)
class AvatarFrame:
    """One avatar as it is to be drawn now: units, radians. The session reuses these objects from frame to frame."""

    peer_id: str
    name: str = ""
    color: str = "#ffffff"
    """#rrggbb"""
    me: bool = False
    away: bool = False
    x: float = 0.0
    y: float = 0.0
    """height of the feet above the ground"""
    z: float = 0.0
    yaw: float = 0.0
    """facing: 0 along +x, rising towards +z"""
    dashing: bool = False
    emote: str = ""
    """what it says now, one of game.wire.EMOTES, or nothing"""
    truth: tuple[float, float, float, float] | None = None
    """x, y, z, yaw of the newest state that the authority has told, for outlines; None before the first"""


HISTORY: Final = 240
"""samples that a series keeps: four seconds at 60 a second"""


class Series:
    """The last HISTORY numbers of one measure, oldest first, in a buffer that is never reallocated."""

    def __init__(self) -> None:
        self._ring: npt.NDArray[np.float64] = np.zeros(2 * HISTORY)
        self._next = 0
        self.last = 0.0

    def add(self, value: float) -> None:
        """Append one number; the oldest goes."""
        self._ring[self._next] = self._ring[self._next + HISTORY] = value
        self._next = (self._next + 1) % HISTORY
        self.last = value

    def view(self) -> npt.NDArray[np.float64]:
        """The numbers, oldest first, shape (HISTORY,): a view, not a copy. Zeros where nothing was added yet."""
        return self._ring[self._next : self._next + HISTORY]


@dataclass(slots=True)
class Diagnostics:
    """What the net graph shows. One sample a frame, but for rtt and jitter, which get one a clock sample."""

    rtt_ms: Series = field(default_factory=Series)
    jitter_ms: Series = field(default_factory=Series)
    """mean deviation of the round trip, RFC 3550's estimator"""
    snapshot_gap_ms: Series = field(default_factory=Series)
    """time since the snapshot before, one sample a snapshot"""
    render_delay_ms: Series = field(default_factory=Series)
    """how far behind what comes by the fastest way the others are drawn"""
    buffer_depth_ms: Series = field(default_factory=Series)
    """how much later than what is drawn the newest snapshot is; below 0 there is none to draw"""
    pending: Series = field(default_factory=Series)
    """commands that the authority has not acknowledged"""
    correction_units: Series = field(default_factory=Series)
    """how far the last acknowledgement moved the own avatar, 0 where it agreed"""
    frame_ms: Series = field(default_factory=Series)
    """what the program adds: how long each frame's work took"""


@dataclass(slots=True)
class Frame:
    """Everything that may be drawn now. Valid until the session's next `update`."""

    now: float
    tick: int
    avatars: list[AvatarFrame]
    """in the order in which they came, own one included"""
    me: AvatarFrame | None
    diagnostics: Diagnostics
    traffic: Traffic


class Session(Protocol):
    """A match as one player sees it. Everything that is not motion stands in a store, to be subscribed to."""

    role: ClassVar[Role]
    """as a PEER there is nothing to predict and to reconcile"""
    arena: Arena
    presence: Store[dict[str, Person]]
    """who is here, by peerId, own one included"""
    status: Store[SessionStatus]
    techniques: Store[Techniques]
    """may be set from outside: takes effect at the next update"""
    network: Store[Conditions]
    """the bad network that is played over the real one, each way; may be set from outside"""

    @property
    def peer_id(self) -> str:
        """This player's name on the wire."""
        ...

    def update(self, now: float, pilot: Pilot) -> Frame:
        """Take in what has arrived, run the ticks that are due at `now` (seconds), and say what to draw."""
        ...

    def emote(self, index: int) -> None:
        """Say EMOTES[index] to everyone, once."""
        ...

    def set_away(self, away: bool) -> None:
        """Tell the others that nobody looks at this window, or somebody does again."""
        ...

    def retry(self) -> None:
        """Try to connect again after the session was lost or refused."""
        ...

    def close(self) -> None:
        """Leave the match. Safe to call twice."""
        ...
