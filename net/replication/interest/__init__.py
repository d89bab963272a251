"""Interest: which entities a connection is told about, and how often."""

from net.replication.interest.sample import (
    NO_SLOTS,
    NOBODY,
    UNCHANGED,
    Answer,
    InterestProvider,
    Policy,
    Sample,
    Slots,
)
from net.replication.interest.visibility import Visibility

__all__ = [
    "NOBODY",
    "NO_SLOTS",
    "UNCHANGED",
    "Answer",
    "InterestProvider",
    "Policy",
    "Sample",
    "Slots",
    "Visibility",
]
