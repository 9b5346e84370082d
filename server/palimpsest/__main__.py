"""`python -P -m palimpsest`: the same as the command `palimpsest`."""

from palimpsest.cli.main import main

raise SystemExit(main())
