"""The tables as peewee models, for code that copies or repairs whole rows. The schema itself is made by `migrations/`.

A model means the database of the thread it is used on (`sql.bind_thread`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from peewee import (
    AutoField,
    BlobField,
    BooleanField,
    CompositeKey,
    FloatField,
    IntegerField,
    Model,
    ModelSelect,
    TextField,
)

from palimpsest.storage.sql import ThreadDatabase


class _Base(Model):
    class Meta:
        database = ThreadDatabase()
        legacy_table_names = False


class Meta(_Base):
    key = TextField(primary_key=True)
    value = TextField()


class Conversation(_Base):
    id = TextField(primary_key=True)
    title = TextField()
    has_user_title = BooleanField()
    model = TextField()
    next_message_id = IntegerField()
    head_digest = TextField(null=True)
    change_seq = IntegerField()
    created_at = TextField()
    updated_at = TextField()
    parent = TextField(null=True)
    fork_message_id = IntegerField()
    is_archived = BooleanField()
    draft = TextField()
    layout = TextField(null=True)


class Message(_Base):
    id = AutoField()
    conversation = TextField()
    message_id = IntegerField()
    created_at = TextField()
    turn = TextField(null=True)
    step = IntegerField(null=True)
    digest_version = IntegerField()
    content_digest = TextField()
    digest = TextField()
    content = TextField(null=True)
    purged_role = TextField(null=True)
    author = TextField(null=True)


class TokenCount(_Base):
    message = IntegerField()
    tokenizer = TextField()
    tokens = IntegerField()

    class Meta:
        primary_key = CompositeKey("message", "tokenizer")


class Content(_Base):
    digest = TextField(primary_key=True)
    bytes = BlobField()


class MessageContent(_Base):
    message = IntegerField()
    digest = TextField()

    class Meta:
        primary_key = CompositeKey("message", "digest")


class StepContent(_Base):
    step = IntegerField()
    digest = TextField()

    class Meta:
        primary_key = CompositeKey("step", "digest")


class Turn(_Base):
    id = TextField(primary_key=True)
    conversation = TextField()
    request_id = TextField(unique=True)
    user_message_id = IntegerField()
    state = TextField()
    model = TextField()
    next_seq = IntegerField()
    stop_reason = TextField(null=True)
    error_kind = TextField(null=True)
    error_message = TextField(null=True)
    cancel_requested = BooleanField(default=False)
    started_at = TextField()
    ended_at = TextField(null=True)
    resolution = TextField(null=True)
    goes_on_behind = IntegerField(null=True)


class Step(_Base):
    id = AutoField()
    turn = TextField()
    number = IntegerField()
    ending = TextField(null=True)
    provider = TextField()
    model = TextField()
    server = TextField()
    epoch = IntegerField()
    last_seq = IntegerField(null=True)
    input_tokens = IntegerField(null=True)
    cache_read_tokens = IntegerField(null=True)
    cache_write_tokens = IntegerField(null=True)
    output_tokens = IntegerField(null=True)
    estimated_tokens = IntegerField()
    started_at = TextField()
    ended_at = TextField(null=True)


class ModelCall(_Base):
    id = AutoField()
    at = TextField()
    conversation = TextField(null=True)
    step = IntegerField(null=True)
    purpose = TextField()
    provider = TextField()
    model = TextField()
    input_tokens = IntegerField()
    cache_read_tokens = IntegerField()
    cache_write_tokens = IntegerField()
    output_tokens = IntegerField()
    is_estimated = BooleanField()
    nanodollars = IntegerField(null=True)


class FileChange(_Base):
    number = AutoField()
    id = TextField(unique=True)
    turn = TextField()
    step = IntegerField(null=True)
    path = TextField()
    before = TextField(null=True)
    after = TextField()
    n_bytes = IntegerField()
    n_added = IntegerField()
    n_removed = IntegerField()
    state = TextField()
    asked_at = TextField()
    settled_at = TextField(null=True)


class Frame(_Base):
    digest = TextField(primary_key=True)
    content = TextField()


class SentRequest(_Base):
    step = IntegerField(primary_key=True)
    frame = TextField()
    cut_version = IntegerField()
    outline = TextField()
    n_known_pieces = IntegerField()
    is_redacted = BooleanField()
    tool_choice = TextField()
    upper_tokens = IntegerField()
    limit_tokens = IntegerField()
    max_output_tokens = IntegerField()
    window_tokens = IntegerField()
    digest = TextField()


class StreamJournal(_Base):
    step = IntegerField()
    seq = IntegerField()
    event_type = TextField()
    content = TextField()
    call_id = TextField(null=True)
    name = TextField(null=True)
    is_error = BooleanField()
    created_at = TextField()

    class Meta:
        primary_key = CompositeKey("step", "seq")


class Lease(_Base):
    conversation = TextField(primary_key=True)
    epoch = IntegerField()
    server = TextField(null=True)
    holder = TextField(null=True)
    acquired_at = TextField()


class Hidden(_Base):
    id = AutoField()
    conversation = TextField()
    start_message_id = IntegerField()
    end_message_id = IntegerField()
    last_summary = IntegerField()
    created_at = TextField()


class Expansion(_Base):
    conversation = TextField()
    start_message_id = IntegerField()
    end_message_id = IntegerField()

    class Meta:
        primary_key = CompositeKey("conversation", "start_message_id", "end_message_id")


class Cut(_Base):
    conversation = TextField()
    version = IntegerField()
    cause = TextField()
    model = TextField()
    factor = FloatField()
    sigma = FloatField()
    overhead = IntegerField()
    frame_digest = TextField()
    end_message_id = IntegerField()
    blocks = TextField()
    saved = TextField()
    tokens_before = IntegerField()
    tokens_after = IntegerField()
    duration_ms = IntegerField()
    front = TextField()
    left_out = TextField()
    created_at = TextField()

    class Meta:
        primary_key = CompositeKey("conversation", "version")


class Preview(_Base):
    conversation = TextField()
    cut_version = IntegerField()
    message_id = IntegerField()
    content = TextField()

    class Meta:
        primary_key = CompositeKey("conversation", "cut_version", "message_id")


class Summary(_Base):
    id = AutoField()
    conversation = TextField()
    start_message_id = IntegerField()
    end_message_id = IntegerField()
    level = IntegerField()
    kind = TextField()
    text = TextField()
    original_tokens = IntegerField()
    author = TextField()
    children = TextField()
    duration_ms = IntegerField()
    input_tokens = IntegerField()
    output_tokens = IntegerField()
    created_at = TextField()


class Pin(_Base):
    number = AutoField()
    text = TextField()
    is_open = BooleanField()
    created_at = TextField()


class Withdrawal(_Base):
    conversation = TextField()
    message_id = IntegerField()
    rule = IntegerField()
    created_at = TextField()

    class Meta:
        primary_key = CompositeKey("conversation", "message_id", "rule")


class RefusedSummary(_Base):
    conversation = TextField()
    input_tokens = IntegerField()
    output_tokens = IntegerField()
    duration_ms = IntegerField()
    created_at = TextField()


class RuleMark(_Base):
    conversation = TextField(primary_key=True)
    reader = TextField()
    until = IntegerField()
    message_ids = TextField()


class Injection(_Base):
    id = AutoField()
    conversation = TextField()
    turn = TextField()
    cut_version = IntegerField()
    kind = TextField()
    text = TextField()
    created_at = TextField()
    message_id = IntegerField(null=True)
    is_ended = BooleanField(default=False)


class SharedConversation(_Base):
    conversation = TextField(primary_key=True)
    hub = TextField()
    incarnation = TextField()
    member = TextField()
    team = TextField()
    channel = TextField()
    hub_seq = IntegerField()
    n_pushed = IntegerField()
    title = TextField()
    root = TextField()
    home = TextField()
    shares_results = BooleanField()


class SharedEntry(_Base):
    conversation = TextField()
    kind = TextField()
    entry_key = TextField()

    class Meta:
        primary_key = CompositeKey("conversation", "kind", "entry_key")


class StandIn(_Base):
    conversation = TextField()
    message_id = IntegerField()
    content = TextField()

    class Meta:
        primary_key = CompositeKey("conversation", "message_id")


class FormerSharing(_Base):
    conversation = TextField(primary_key=True)
    hub = TextField()
    member = TextField()
    team = TextField()
    n_messages = IntegerField()


class PurgeIntent(_Base):
    id = AutoField()
    conversation = TextField()
    start_message_id = IntegerField()
    end_message_id = IntegerField()


class Calibration(_Base):
    provider = TextField()
    model = TextField()
    tokenizer = TextField()
    overhead = FloatField()
    factor = FloatField()
    sigma = FloatField()
    weight = FloatField()
    mean_raw = FloatField()
    variance_raw = FloatField()
    updated_at = TextField()

    class Meta:
        primary_key = CompositeKey("provider", "model", "tokenizer")


class LearnedLimit(_Base):
    provider = TextField()
    model = TextField()
    max_input = IntegerField()
    learned_at = TextField()

    class Meta:
        primary_key = CompositeKey("provider", "model")


def rows(query: ModelSelect[Any]) -> Iterable[tuple[Any, ...]]:
    """The selected columns of a query, without a model around them."""
    result: Iterable[tuple[Any, ...]] = query.tuples()
    return result
