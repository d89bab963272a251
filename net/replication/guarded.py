"""Guarded: a policy that a game wrote, kept from stopping the sample."""

from __future__ import annotations

import logging

from net.replication.interest import Policy

_log = logging.getLogger(__name__)


def guarded(policy: Policy) -> Policy:
    """The same policy, but what it fails to answer is not shown, and said once."""
    failed = False

    def ask(connection: int, slot: int) -> bool:
        nonlocal failed
        try:
            return bool(policy(connection, slot))
        except Exception:
            if not failed:
                _log.exception("the policy failed for connection %d and slot %d, which is not shown", connection, slot)
            failed = True
            return False

    return ask
