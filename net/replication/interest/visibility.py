"""Visibility: who is told about what, from a policy or a provider, and from what holds whatever those say."""

from __future__ import annotations

from collections.abc import Mapping

from net.replication.interest.sample import Answer, Flags, InterestProvider, Policy, Sample, Slots


class Visibility:
    """The visible set of every connection (the seam; its body follows).

    Always visible: what a connection owns, what has no position, and everything to a connection without an anchor.
    """

    def __init__(self, capacity: int) -> None:
        raise NotImplementedError

    def set_policy(self, policy: Policy | None) -> None:
        """Ask this function from the next sample on; None shows everything to everyone. Takes a provider's place."""
        raise NotImplementedError

    def set_provider(self, provider: InterestProvider | None) -> None:
        """Ask this provider from the next sample on; None shows everything to everyone. Takes a policy's place."""
        raise NotImplementedError

    def connect(self, connection: int) -> None:
        """Add a connection; the next update's `enter` is all that it sees. ValueError if it is there already."""
        raise NotImplementedError

    def disconnect(self, connection: int) -> None:
        """Remove a connection and all that it saw. Unknown ones are ignored."""
        raise NotImplementedError

    def update(self, sample: Sample) -> Mapping[int, Answer]:
        """Take in a sample. Gives exact changes by connection, for those whose visible set has changed."""
        raise NotImplementedError

    def visible(self, connection: int) -> Slots:
        """What a connection sees, sorted."""
        raise NotImplementedError

    def audience(self, slots: Slots) -> dict[int, Flags]:
        """By connection: which of these slots it sees."""
        raise NotImplementedError

    def position(self, slot: int) -> tuple[float, float, float] | None:
        """Where the entity is in the newest sample, or None without a position."""
        raise NotImplementedError

    def anchors(self, connection: int) -> Slots:
        """What the connection owns that has a position, sorted."""
        raise NotImplementedError

    def close(self) -> None:
        """Dispose of the provider. Idempotent."""
        raise NotImplementedError
