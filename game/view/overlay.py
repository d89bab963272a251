"""What the player has switched on over the picture."""

from __future__ import annotations

import msgspec


class Overlay(msgspec.Struct, frozen=True):
    """Switches and labels that belong to the window, not to the match."""

    help: bool = False
    graph: bool = True
    truth: bool = False
    preset: str = "perfect"
    """name of the network preset"""
    latency_ms: float = 0.0
    """one-way latency added on top of the preset"""
    authority: bool = True
    """whether there is a server that owns the truth; otherwise prediction and reconciliation have no meaning"""
    title: str = ""
    """what kind of game this is, for example "authoritative server" """
