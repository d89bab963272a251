"""Packer: the frames of one sample. What several receivers are told alike is made once."""

from __future__ import annotations

import zlib
from typing import Final, NamedTuple

import numpy as np

from net.replication.bits import BitWriter
from net.replication.encoder import write_body
from net.replication.frame import CHECK, Head, body_check, check_of, write_head
from net.replication.survey import News
from net.replication.told import Told, told_all, told_full
from net.replication.world import Flags, World, digest


class Standing(NamedTuple):
    """What frames to a receiver depend on, as of the last one: those who stand alike can be sent the same."""

    counter: int
    """of the next frame"""
    digest: int
    """of the ids that it knows"""
    tick: int
    sample: int
    said: bool
    """whether there was news in it: then another one follows, if only to say that what moved has stopped"""


STRANGER: Final = Standing(0, 0, 0, 0, False)
"""who was sent nothing yet"""


class Moment(NamedTuple):
    """When all this is sent."""

    tick: int
    sample: int
    heartbeat: int
    """samples after which somebody is told the tick although nothing else is new"""


class _Body:
    """What is said to some receivers, and how it changes the digest of what they know."""

    __slots__ = ("data", "letters", "shift")

    def __init__(self, data: bytes, shift: int) -> None:
        self.data = data
        self.shift = shift
        self.letters: dict[Standing, Letter] = {}


class Letter:
    """What receivers who are told the same, and stand alike, are sent in one sample."""

    __slots__ = ("_body", "_check", "_frames", "_head", "_starts", "after", "due")

    def __init__(self, body: _Body, standing: Standing, moment: Moment) -> None:
        known = (standing.digest + body.shift) & 0xFFFFFFFF
        self._body = body.data
        self._check = body_check(body.data, known)
        self._head = Head(counter=standing.counter, tick=moment.tick - standing.tick, has_body=bool(body.data))
        self.after: Final = Standing((standing.counter + 1) & 255, known, moment.tick, moment.sample, bool(body.data))
        """how the receiver stands once it was sent this"""
        self.due: Final = bool(body.data) or standing.said or moment.sample >= standing.sample + moment.heartbeat
        """whether to send it also to who is told nothing in private"""
        self._frames: dict[int, bytes] = {}
        self._starts: dict[tuple[int, int], bytes] = {}

    def frame(self, acknowledged: int, private: bytes | None) -> bytes:
        """The whole frame: how many more commands were dealt with, and what is new for this receiver alone."""
        if private is None:
            frame = self._frames.get(acknowledged)
            if frame is None:
                head = self._start(acknowledged, None)
                frame = self._frames[acknowledged] = head + self._body + check_of(head, self._check)
            return frame
        key = acknowledged, len(private)
        start = self._starts.get(key)
        if start is None:
            start = self._starts[key] = self._start(acknowledged, private).removesuffix(private)
        head = start + private
        # check_of, in place: this line runs for every receiver.
        return head + self._body + zlib.crc32(head, self._check).to_bytes(CHECK, "little")

    def _start(self, acknowledged: int, private: bytes | None) -> bytes:
        self._head.acknowledged, self._head.private = acknowledged, private
        return write_head(self._head)


class Packer:
    """Makes frames for as long as the sample lasts that `news` is about. `sent` is the world that it left."""

    def __init__(self, sent: World, news: News, moment: Moment) -> None:
        self._sent = sent
        self._news = news
        self._moment = moment
        self._by_told: dict[int, tuple[Told, _Body]] = {}
        self._by_key: dict[tuple[bytes, ...], _Body] = {}
        self._everybody: _Body | None = None
        self._everything: Told | None = None

    def letter(self, told: Told | None, standing: Standing) -> Letter:
        """What is sent to who stands like this and is to be told that; None: all that is new."""
        if told is not None:
            body = self._body(told)
        elif self._everybody is not None:
            body = self._everybody
        else:
            body = self._everybody = self._make(told_all(self._news))
        letter = body.letters.get(standing)
        if letter is None:
            letter = body.letters[standing] = Letter(body, standing, self._moment)
        return letter

    def full(
        self, known: Flags | None, connection: int, capacity: int, acknowledged: int, private: bytes
    ) -> tuple[bytes, Standing]:
        """A frame with all there is, or of that what is flagged in `known`, and how its receiver stands then."""
        if known is not None:
            told = told_full(self._sent, known)
        else:
            told = self._everything = self._everything or told_full(self._sent, None)
        body, moment = self._body(told), self._moment
        digest = body.shift & 0xFFFFFFFF
        # All who are told in every sample count alike, so that they soon stand alike.
        counter = moment.sample & 255
        head = write_head(Head(True, counter, moment.tick, connection, capacity, acknowledged, private, True))
        frame = head + body.data + check_of(head, body_check(body.data, digest))
        return frame, Standing((counter + 1) & 255, digest, moment.tick, moment.sample, True)

    def _body(self, told: Told) -> _Body:
        made = self._by_told.get(id(told))
        if made is None:
            key = told.key()
            if key not in self._by_key:
                self._by_key[key] = self._make(told)
            # The object is kept, so that no other one gets its number.
            made = self._by_told[id(told)] = (told, self._by_key[key])
        return made[1]

    def _make(self, told: Told) -> _Body:
        if not told.anything():
            return _Body(b"", 0)
        writer = BitWriter()
        write_body(writer, self._sent, told.leave, [table.rows for table in self._news.tables], told.selections)
        return _Body(writer.finish(), self._shift(told) if len(told.enter) or len(told.leave) else 0)

    def _shift(self, told: Told) -> int:
        """How the digest changes of who is told this."""
        ids, news = self._sent.ids, self._news
        left = ids[told.leave]
        if len(news.gone):
            place = np.minimum(np.searchsorted(news.gone, told.leave), len(news.gone) - 1)
            left = np.where(news.gone[place] == told.leave, news.gone_ids[place], left)
        return digest(ids[told.enter]) - digest(left)
