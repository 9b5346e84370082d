"""`python -P -m palimpsest`: the same as the command `palimpsest`."""

from palimpsest.cli import main

raise SystemExit(main())
