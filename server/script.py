"""Script: a room's world for the players that read text: who is here, their own state, and everyone's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from game.sim.constants import TICK_MS
from game.sim.state import Avatar
from game.wire import SERVER, Person, Roster, State, WorldState, pack_avatar
from server.engine import Frame, text_frame

Send = Callable[[Frame], None]
"""Takes one frame for one player."""

STATE_TICKS: Final = 3
"""ticks between two `state` messages: 20 Hz"""
ROSTER_EVERY: Final = 0.1
"""seconds between two rosters while people come, go and change"""
RTT_EVERY: Final = 1.0
"""seconds between two rosters while only round trips change"""

_PREFIX: Final = b'{"from":' + msgspec.json.encode(SERVER) + b',"data":'
_ENCODER: Final = msgspec.json.Encoder()


def encode(message: msgspec.Struct) -> Frame:
    """One text frame from the server. Every number in it is finite, for all come from integers or were checked."""
    return text_frame(_PREFIX + _ENCODER.encode(message) + b"}")


class Script:
    """Everybody's profile, and the readers that are told about it."""

    def __init__(self) -> None:
        self._people: dict[str, Person] = {}
        self._readers: dict[str, Send] = {}
        self._roster_at = self._rtt_at = -math.inf
        self._people_changed = self._rtt_changed = False

    def introduce(self, peer_id: str, person: Person) -> None:
        """Somebody is here, or another one than before."""
        old = self._people.get(peer_id)
        self._people[peer_id] = person
        if old is None or (old.name, old.color, old.away) != (person.name, person.color, person.away):
            self._people_changed = True
        elif old.rtt_ms != person.rtt_ms:
            self._rtt_changed = True

    def listen(self, peer_id: str, send: Send) -> None:
        """Tell this player in text from now on."""
        self._readers[peer_id] = send
        self._people_changed = True

    def unlisten(self, peer_id: str) -> None:
        """No more. Harmless for who has never listened."""
        self._readers.pop(peer_id, None)

    def leave(self, peer_id: str) -> None:
        """Somebody has left."""
        del self._people[peer_id]
        self._people_changed = True
        self.unlisten(peer_id)

    def send_roster(self, now: float) -> None:
        """Say who is here, if that is another one than before."""
        people = self._people_changed and now - self._roster_at >= ROSTER_EVERY
        rtt = self._rtt_changed and now - self._rtt_at >= RTT_EVERY
        if self._readers and (people or rtt):
            self._people_changed = self._rtt_changed = False
            self._roster_at = self._rtt_at = now
            self._send_all(Roster(self._people))

    def send_world(self, tick: int, avatars: Callable[[], Mapping[str, Avatar]]) -> None:
        """Tell every reader about everyone, as they stand at `tick`. `avatars` is asked only if somebody reads."""
        if self._readers:
            players = {peer_id: pack_avatar(avatar) for peer_id, avatar in avatars().items()}
            self._send_all(WorldState(players, tick, time_of(tick)))

    def send_states(self, tick: int, own: Callable[[str], tuple[Avatar, int]]) -> None:
        """Tell every reader about himself: his avatar at `tick`, and his newest command in it."""
        for peer_id, send in self._readers.items():
            avatar, last_seq = own(peer_id)
            send(encode(State(pack_avatar(avatar), last_seq, tick, time_of(tick))))

    def _send_all(self, message: msgspec.Struct) -> None:
        frame = encode(message)
        for send in self._readers.values():
            send(frame)


def time_of(tick: int) -> float:
    """The room's time when that tick is done, ms."""
    return round(tick * TICK_MS, 3)
