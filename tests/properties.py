"""How many examples a property is tried on.

A profile of Hypothesis decides (tests/conftest.py): `make test` tries a fifth of what CI tries. A property that needs
more or fewer examples than others says how many it has in CI.
"""

from __future__ import annotations

from hypothesis import settings

FULL_EXAMPLES = 100
"""For a property that says nothing, in CI."""


def examples(n_in_ci: int) -> settings:
    """`n_in_ci` examples in the profile `ci`, and in other profiles as many more or fewer as they have of all."""
    profile = settings.get_profile(settings.get_current_profile_name())
    return settings(max_examples=max(1, n_in_ci * profile.max_examples // FULL_EXAMPLES))
