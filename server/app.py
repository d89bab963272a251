"""Which server to run: the authority, or with `relay` as the first word the relay."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a server until it is told to stop. Returns the exit code."""
    command, *rest = given = list(sys.argv[1:] if arguments is None else arguments) or [""]
    if command == "relay":
        from server import relay_program  # noqa: PLC0415 knows no game, and must not load one

        return relay_program.main(rest)
    from server import authority_program  # noqa: PLC0415

    return authority_program.main(rest if command in ("authority", "") else given)
