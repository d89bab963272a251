"""Start the authoritative server: `run_server.py --help` says how."""

from __future__ import annotations

import sys

from server.app import main

if __name__ == "__main__":
    sys.exit(main())
