"""Start the authoritative server, or with `relay` the relay: `run_server.py [relay] --help` says how."""

from __future__ import annotations

import sys

from server.app import main

if __name__ == "__main__":
    sys.exit(main())
