"""Conditions: what a network does to messages in one direction, as numbers, as presets and as text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, Literal, cast, get_args

import msgspec

Distribution = Literal["uniform", "normal", "heavy"]
"""How jitter spreads: uniform within ±jitter; normal with sigma = jitter; heavy: a Pareto tail above the latency"""


class Conditions(msgspec.Struct, frozen=True):
    """One direction of a network. Times in seconds. Raises ValueError for numbers that no network has."""

    latency: float = 0.0
    """one way"""
    jitter: float = 0.0
    """see `distribution`; a message is never faster than light: the sum is cut at 0"""
    distribution: Distribution = "uniform"
    loss: float = 0.0
    """probability, 0 to 1, that one transmission is lost"""
    duplicate: float = 0.0
    """probability, 0 to 1, that a message arrives twice; only where nothing is ordered"""
    ordered: bool = True
    """as on TCP: nothing overtakes, and what is lost is sent again while everything behind it waits.
    False as on UDP: lost for good, doubled, overtaken"""
    bandwidth: float | None = None
    """bytes a second; None for no limit"""

    def __post_init__(self) -> None:
        for name in ("latency", "jitter"):
            if not 0 <= getattr(self, name) <= LONGEST:
                raise ValueError(f"{name} must be from 0 to {LONGEST:g} seconds, not {getattr(self, name)}")
        for name in ("loss", "duplicate"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be from 0 to 1, not {getattr(self, name)}")
        if self.distribution not in get_args(Distribution):
            raise ValueError(
                f"distribution must be one of {', '.join(get_args(Distribution))}, not {self.distribution}"
            )
        if self.bandwidth is not None and not 0 < self.bandwidth < math.inf:
            raise ValueError(f"bandwidth must be above 0, not {self.bandwidth}")
        if self.duplicate and self.ordered:
            raise ValueError("duplicate needs ordered=no: an ordered connection delivers nothing twice")

    @property
    def perfect(self) -> bool:
        """Whether messages pass at once and unharmed."""
        return not (self.latency or self.jitter or self.loss or self.duplicate or self.bandwidth)


LONGEST: Final = 60.0
"""seconds: more latency or jitter than this is a slip of the finger"""

PRESETS: Final[dict[str, Conditions]] = {
    "perfect": Conditions(),
    "LAN": Conditions(latency=0.001, jitter=0.0003),
    "Wi-Fi": Conditions(latency=0.004, jitter=0.003, distribution="heavy", loss=0.01),
    "4G": Conditions(latency=0.035, jitter=0.012, distribution="normal", loss=0.005),
    "bad 4G": Conditions(latency=0.09, jitter=0.06, distribution="heavy", loss=0.035, bandwidth=125_000.0),
    "satellite": Conditions(latency=0.28, jitter=0.02, distribution="normal", loss=0.005),
}
"""By the name that is shown, from good to bad; one way, for up and down alike"""


def parse_conditions(text: str) -> tuple[Conditions, int]:
    """Conditions and seed from text such as "latency=80,jitter=20,loss=0.02,seed=1" or "bad 4G,seed=2".

    latency and jitter in ms, bandwidth in kB/s (1000 bytes), ordered=yes or no. A preset's name may stand first,
    in any case; keys after it change it. Seed 0 unless given. Raises ValueError with one sentence for people.
    """
    seed = 0
    values: dict[str, object] = {}
    for place, part in enumerate(text.split(",")):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals and place == 0:
            values = _preset(key)
        elif key == "seed":
            seed = _whole(key, value)
        elif key in _READERS:
            values[key] = _READERS[key](key, value)
        else:
            raise ValueError(f"{key!r} is no network condition: there are {', '.join(_READERS)} and seed")
    return Conditions(**values), seed  # type: ignore[arg-type]


def _preset(name: str) -> dict[str, object]:
    for known, conditions in PRESETS.items():
        if known.casefold() == name.casefold():
            return cast("dict[str, object]", msgspec.structs.asdict(conditions))
    raise ValueError(f"{name!r} is no network: there are {', '.join(PRESETS)}, or conditions such as latency=80")


def _number(key: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{key} must be a number, not {value!r}")
    return number


def _milliseconds(key: str, value: str) -> float:
    number = _number(key, value)
    if not 0 <= number <= LONGEST * 1000:
        raise ValueError(f"{key} must be from 0 to {LONGEST * 1000:g} ms, not {value}")
    return number / 1000


def _kilobytes(key: str, value: str) -> float:
    return _number(key, value) * 1000


def _whole(key: str, value: str) -> int:
    if not value.isascii() or not value.removeprefix("-").isdigit() or len(value) > 18:
        raise ValueError(f"{key} must be a whole number, not {value!r}")
    return int(value)


def _yes(key: str, value: str) -> bool:
    if value.lower() in ("yes", "true", "on", "1"):
        return True
    if value.lower() in ("no", "false", "off", "0"):
        return False
    raise ValueError(f"{key} must be yes or no, not {value!r}")


def _word(key: str, value: str) -> str:
    return value


_READERS: Final[dict[str, Callable[[str, str], object]]] = {
    "latency": _milliseconds,
    "jitter": _milliseconds,
    "distribution": _word,
    "loss": _number,
    "duplicate": _number,
    "ordered": _yes,
    "bandwidth": _kilobytes,
}
