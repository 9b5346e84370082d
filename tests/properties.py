"""How many examples a property is tried on.

A profile of Hypothesis decides (tests/conftest.py): `make test` tries a fifth of what CI tries. A property that needs
more or fewer examples than others says how many it has in CI.
"""

from __future__ import annotations

from hypothesis import Phase, settings

FULL_EXAMPLES = 100
"""For a property that says nothing, in CI."""


def examples(n_in_ci: int, *, shrinks: bool = True) -> settings:
    """`n_in_ci` examples in the profile `ci`, and in other profiles as many more or fewer as they have of all.
    `shrinks`: whether a smaller example is looked for when one fails, which takes hundreds of attempts."""
    profile = settings.get_profile(settings.get_current_profile_name())
    phases = profile.phases if shrinks else [each for each in profile.phases if each is not Phase.shrink]
    return settings(max_examples=max(1, n_in_ci * profile.max_examples // FULL_EXAMPLES), phases=phases)
