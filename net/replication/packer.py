"""Packer: the bodies of one sample. What several receivers are told alike is made once."""

from __future__ import annotations

import numpy as np

from net.replication.audience import Told, told_full
from net.replication.bits import BitWriter
from net.replication.encoder import write_body
from net.replication.frame import Head, body_check, check_of, write_head
from net.replication.survey import News
from net.replication.world import Flags, World, digest


class _Body:
    """What is said to some receivers, and how it changes the digest of what they know."""

    __slots__ = ("checks", "data", "shift")

    def __init__(self, data: bytes, shift: int) -> None:
        self.data = data
        self.shift = shift
        self.checks: dict[int, int] = {}
        """by digest"""


class Packer:
    """Makes bodies for as long as the sample lasts that `news` is about. `sent` is the world that it left."""

    def __init__(self, sent: World, news: News) -> None:
        self._sent = sent
        self._news = news
        self._by_told: dict[int, tuple[Told, _Body]] = {}
        self._by_key: dict[tuple[bytes, ...], _Body] = {}
        self._everything: Told | None = None
        self._frames: dict[tuple[int, ...], bytes] = {}

    def full(self, known: Flags | None) -> Told:
        """All there is, or of that what is known."""
        if known is not None:
            return told_full(self._sent, known)
        if self._everything is None:
            self._everything = told_full(self._sent, None)
        return self._everything

    def body(self, told: Told, known: int) -> tuple[bytes, int, int]:
        """The body, its part of the check, and the new digest of somebody whose digest was `known`.

        The body is empty if there is nothing to tell.
        """
        made = self._by_told.get(id(told))
        if made is None:
            key = told.key()
            if key not in self._by_key:
                self._by_key[key] = self._make(told)
            # The object is kept, so that no other one gets its number.
            made = self._by_told[id(told)] = (told, self._by_key[key])
        body = made[1]
        after = (known + body.shift) & 0xFFFFFFFF
        check = body.checks.get(after)
        if check is None:
            check = body.checks[after] = body_check(body.data, after)
        return body.data, check, after

    def frame(self, head: Head, body: bytes, check: int) -> bytes:
        """The whole frame; `body` and its check are from `body()`."""
        if head.private is not None:
            return self._whole(head, body, check)
        key = (head.full, head.counter, head.tick, head.connection, head.acknowledged, id(body), check)
        frame = self._frames.get(key)
        if frame is None:
            frame = self._frames[key] = self._whole(head, body, check)
        return frame

    def _whole(self, head: Head, body: bytes, check: int) -> bytes:
        start = write_head(head)
        return b"".join((start, body, check_of(start, check)))

    def _make(self, told: Told) -> _Body:
        if not told.anything():
            return _Body(b"", 0)
        writer = BitWriter()
        write_body(writer, self._sent, told.leave, [table.rows for table in self._news.tables], told.selections)
        ids, news = self._sent.ids, self._news
        left = ids[told.leave]
        if len(news.gone):
            place = np.minimum(np.searchsorted(news.gone, told.leave), len(news.gone) - 1)
            left = np.where(news.gone[place] == told.leave, news.gone_ids[place], left)
        return _Body(writer.finish(), digest(ids[told.enter]) - digest(left))
