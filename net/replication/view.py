"""View: what one receiver knows, and what of it is behind the times."""

from __future__ import annotations

import numpy as np

from net.replication.world import Flags


class View:
    """What one receiver knows."""

    __slots__ = ("behind", "fresh", "known", "lags", "told_at")

    def __init__(self, known: Flags) -> None:
        self.known = known
        self.fresh = True
        """whether what it knows has to be compared with what it sees: otherwise changes are enough"""
        self.lags = False
        """whether anybody may be behind"""
        self.behind = np.zeros(len(known), np.bool_)
        """who has changed since it was told"""
        self.told_at = np.zeros(len(known), np.int32)
        """the last sample that it was told of, of who is behind"""
