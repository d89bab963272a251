"""Numbers that look random and depend on nothing but their keys."""

from __future__ import annotations

_MASK = 0xFFFFFFFFFFFFFFFF


def noise(seed: int, tick: int, key: int) -> int:
    """64 well mixed bits for (seed, tick, key): three rounds of the SplitMix64 finalizer (Steele et al., 2014)."""
    mixed = 0
    for word in (seed, tick, key):
        mixed = (mixed + (word & _MASK) + 0x9E3779B97F4A7C15) & _MASK
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        mixed ^= mixed >> 31
    return mixed
