"""The seam between presence and its encodings: what a beat says, and what was heard. No sockets and no clock here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from net.envelope import Envelope
from net.presence.record import PeerRecord, Pose, ShotValue

L_contra = TypeVar("L_contra", contravariant=True)
P = TypeVar("P", bound=PeerRecord)

Message = bytes | dict[str, Any]
"""a binary message, or the JSON object in an envelope"""
Shot = tuple[str, ShotValue]
"""name and value"""

SHOTS_A_BEAT: Final = 8
"""one-shots that one beat carries; the rest waits for the next"""
NAME_LIMIT: Final = 64
"""characters in the name of a field or a one-shot"""
TEXT_LIMIT: Final = 512
"""characters in a string; in a list of strings, all together"""
SHOT_TEXT_LIMIT: Final = 128
"""characters in the value of a one-shot"""
INT_RANGE: Final = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class Beat:
    """Why this beat sends, beside a change."""

    keepalive: bool = False
    newcomer: bool = False
    """somebody is here who may not know us yet"""
    shots: tuple[Shot, ...] = ()
    """fired since the last beat, at most SHOTS_A_BEAT"""


@dataclass(frozen=True, slots=True)
class Heard(Generic[P]):
    """What one message of a peer says."""

    peer_id: str
    peer: P | None = None
    """its new record; None if the message brings none"""
    shots: tuple[Shot, ...] = ()
    """not heard before"""
    bye: bool = False


class PresenceCodec(Protocol[L_contra, P]):
    """One encoding. It may keep state about what was sent and heard, so one instance serves one PresenceSync."""

    @property
    def interval(self) -> float:
        """Seconds between beats, unless its owner chooses."""
        ...

    @property
    def keepalive_every(self) -> int:
        """Beats after which an unchanged state is sent too, unless its owner chooses."""
        ...

    def restart(self, peer_id: str) -> None:
        """From now on this peer, `peer_id`, speaks as if nobody had heard it."""
        ...

    def write(self, local: L_contra, beat: Beat) -> list[Message]:
        """What this beat sends, perhaps nothing.

        Raises TypeError or ValueError for local data that cannot be encoded; what was sent before stays as it was.
        """
        ...

    def farewell(self) -> list[Message]:
        """What says good-bye."""
        ...

    def read(self, message: Envelope | bytes, now: float) -> Heard[P] | None:
        """What a peer's message says; None if it is not about presence, or malformed. Never raises."""
        ...

    def forget(self, peer_id: str) -> None:
        """Keep nothing about that peer."""
        ...

    def pose(self, peer: P) -> Pose | None:
        """Where a record says that its peer is, if it does."""
        ...


def is_shot_value(value: object) -> bool:
    """Whether a one-shot may carry it: None, a bool, a 64-bit int, a finite float, or text up to SHOT_TEXT_LIMIT."""
    if isinstance(value, str):
        return len(value) <= SHOT_TEXT_LIMIT and not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, bool) or (isinstance(value, int) and value in INT_RANGE)
