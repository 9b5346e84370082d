"""An enumeration of the protocol that mirrors one of the server's own names the same members with the same values.

The protocol keeps its own names and spelling where the server's may change; what a conversion between the two relies on
is compared here. Every enumeration of the protocol is in one of the two tables below.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import get_args

import pytest

from palimpsest.domain import approvals, messages
from palimpsest.domain.context import recall_report, tokens
from palimpsest.domain.context import usage as own_usage
from palimpsest.domain.context.rules import rule_set
from palimpsest.domain.facts import fact
from palimpsest.domain.models import limits, provider
from palimpsest.domain.settings import settings
from palimpsest.domain.sharing import status
from palimpsest.domain.taking_back import ChangeState
from palimpsest.domain.turns import journal, states
from palimpsest.domain.turns import recovery as own_recovery
from palimpsest.services.chat import mentions
from palimpsest.services.conversation import transfer as own_transfer
from palimpsest.services.mcp.server import ServerState
from palimpsest.services.models import editor_models as own_editor_models
from palimpsest.services.models import keys, model_services
from palimpsest.services.tools.taking_back import Outcome
from palimpsest.wire.areas import (
    adoption,
    attachments,
    commands,
    context,
    conversations,
    credentials,
    editor_models,
    facts,
    file_changes,
    mcp,
    models,
    recovery,
    rules,
    sharing,
    tools,
    transfer,
    turns,
    usage,
)
from palimpsest.wire.declare import camel
from palimpsest.wire.messages import AREAS


@dataclass(frozen=True)
class Mirror:
    """An enumeration of the server, and the members that only one of the two has."""

    of: type[Enum]
    only_in_protocol: frozenset[str] = frozenset()
    only_in_server: frozenset[str] = frozenset()
    has_own_values: bool = False
    """Whether a table converts the members, so that their values need not match."""


RUNNING = frozenset(("ADMITTED", "PREPARED", "STREAMING", "TOOLS"))
MIRRORS: dict[type[Enum], Mirror] = {
    commands.MentionKind: Mirror(mentions.ItemKind),
    context.LeftOutBecause: Mirror(recall_report.LeftOutBecause),
    conversations.MessageRole: Mirror(messages.Role),
    conversations.MessageState: Mirror(messages.MessageStatus),
    credentials.KeySource: Mirror(keys.KeySource),
    credentials.KeyVerdict: Mirror(model_services.Verdict),
    editor_models.EditorModelStopReason: Mirror(provider.StopReason),
    editor_models.EditorModelErrorKind: Mirror(own_editor_models.Failing, only_in_server=frozenset(("GONE", "SILENT"))),
    facts.FactKind: Mirror(fact.FactType),
    facts.SourceCondition: Mirror(fact.FactState),
    file_changes.FileChangeState: Mirror(
        ChangeState, frozenset(("UNKNOWN",)), frozenset(("ASKED",)), has_own_values=True
    ),
    file_changes.UndoOutcome: Mirror(Outcome, has_own_values=True),
    recovery.AnswerBreak: Mirror(own_recovery.Break),
    recovery.RecoveryAction: Mirror(own_recovery.Resolution),
    recovery.CallFate: Mirror(own_recovery.CallFate),
    rules.RuleState: Mirror(rule_set.RuleState, only_in_protocol=frozenset(("ORDINARY",))),
    mcp.McpState: Mirror(ServerState),
    sharing.HubState: Mirror(status.HubState),
    tools.ApprovalAnswer: Mirror(approvals.Answer),
    transfer.ImportOutcome: Mirror(own_transfer.Outcome),
    turns.TurnStatus: Mirror(states.TurnState, frozenset(("RUNNING",)), RUNNING),
    turns.DeltaType: Mirror(
        journal.EventType,
        frozenset(("TURN",)),
        frozenset(("COUNTED", "IMAGE", "OPAQUE", "TOOL_ASKED", "TOOL_ALLOWED")),
        has_own_values=True,
    ),
    usage.Counting: Mirror(tokens.Certainty),
    usage.LimitsSource: Mirror(limits.LimitsSource),
    usage.Severity: Mirror(own_usage.Severity, has_own_values=True),
}
ONLY_IN_PROTOCOL: frozenset[type[Enum]] = frozenset(
    (
        adoption.AdoptionAction,
        attachments.AttachmentType,
        conversations.ContextLayout,
        conversations.SharingState,
        editor_models.EditorModelDeltaType,
        editor_models.EditorModelPartType,
        file_changes.FileChangeKind,
        models.SwitchOutcome,
        usage.ContextStatus,
    )
)


def test_every_enumeration_of_the_protocol_is_a_mirror_or_nothing_but_the_protocols() -> None:
    declared = {
        found
        for area in AREAS
        for found in vars(area).values()
        if isinstance(found, type) and issubclass(found, Enum) and found.__module__.startswith("palimpsest.wire.areas.")
    }
    assert declared == MIRRORS.keys() | ONLY_IN_PROTOCOL
    assert not MIRRORS.keys() & ONLY_IN_PROTOCOL


@pytest.mark.parametrize("mirroring", MIRRORS, ids=lambda found: found.__name__)
def test_a_mirror_has_the_members_of_what_it_mirrors(mirroring: type[Enum]) -> None:
    mirror = MIRRORS[mirroring]
    here, there = mirroring.__members__, mirror.of.__members__
    assert here.keys() - there.keys() == mirror.only_in_protocol
    assert there.keys() - here.keys() == mirror.only_in_server
    if not mirror.has_own_values:
        for name in here.keys() & there.keys():
            value = there[name].value
            assert here[name].value in (value, camel(value))


def test_the_layouts_of_the_protocol_are_those_of_the_settings() -> None:
    assert tuple(layout.value for layout in conversations.ContextLayout) == get_args(settings.Layout)
