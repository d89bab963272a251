"""Interest: which entities a connection is told about, and how often."""

from net.replication.interest.cells import CellProvider
from net.replication.interest.policy import Position, radius_interest
from net.replication.interest.radius import RadiusProvider
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
from net.replication.interest.tiers import TierPlan, Tiers, nearest
from net.replication.interest.visibility import Visibility

__all__ = [
    "NOBODY",
    "NO_SLOTS",
    "UNCHANGED",
    "Answer",
    "CellProvider",
    "InterestProvider",
    "Policy",
    "Position",
    "RadiusProvider",
    "Sample",
    "Slots",
    "TierPlan",
    "Tiers",
    "Visibility",
    "nearest",
    "radius_interest",
]
