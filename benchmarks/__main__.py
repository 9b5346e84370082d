"""`make bench`: every benchmark that needs no data from outside."""

from __future__ import annotations

import benchmarks.offline.__main__ as offline
import benchmarks.rules.__main__ as rules
from benchmarks import (
    busy,
    calibration,
    fact_watching,
    first_token,
    journal,
    long_conversation,
    prepare,
    retrieval,
    staleness,
    startup,
)

if __name__ == "__main__":
    startup.main(15)
    offline.main([])
    long_conversation.main([])
    prepare.main()
    journal.main([])
    busy.main()
    first_token.main()
    calibration.main()
    fact_watching.main()
    staleness.main([])
    rules.main([])
    retrieval.main()
