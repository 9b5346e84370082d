"""English words that say nothing about what a text is about. Folded (lower case, no accents), and not stemmed."""

from __future__ import annotations

from typing import Final

STOP: Final = frozenset(
    """a about above actually after again all also although always am an and any anybody anyone anything are aren
    around as aside at away be because been before being below besides between both but by can cannot could
    couldn currently d did didn do does doesn doing don done down during each either else ever every exactly
    except few for from get gets getting give given gives go goes going gone got had happen happened happens
    has hasn have haven having he hello her here hers hey hi him his how however i if in inside instead into
    is isn it its itself just kindly know let lets like ll look m maybe me mean means might mine more most
    much must my myself need needs no nor not now of off ok okay on once one only onto or other our ours out
    over own perhaps please question quite rather re really s same say says shall she should shouldn show
    since so some somebody someone something still such t take takes tell than thank thanks that the their
    theirs them then there these they thing things this those though through to too under until up upon us
    usually ve very want wants was wasn we well were weren what whats when where whether which while who whom
    whose why will wish with within without won would wouldn yes yet you your yours""".split()
)
"""Words that say how something is asked, not what."""
