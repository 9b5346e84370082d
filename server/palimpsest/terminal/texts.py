"""Every text of the terminal that a user reads, but for those that the server sends, and `--help`.

Values that go into a text are made harmless by the view that shows it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from palimpsest.wording import counted

# The first screen

NAME: Final = "Palimpsest"
STARTING: Final = "Starting"
FOLDER: Final = "Folder"
MODEL: Final = "Model"
TRUST: Final = "Trust"
TRUSTED: Final = "yes: a model may ask you to let it change files and use other tools"
ACCEPTING: Final = "yes: a model changes files without asking (--accept-edits), and may ask to use other tools"
NOT_TRUSTED: Final = "no: a model can only read here (`palimpsest trust` lets it ask for more)"


def no_model(silent: str) -> str:
    """`silent`: what to do about the services that are set up and named no model; empty when there are none."""
    step = silent or "`palimpsest login anthropic` sets one up."
    return f"none yet, so this is a search. {step}"


def only_searches(model: str) -> str:
    """`model`: the one that new conversations begin with."""
    return f"none: this conversation only searches (`/model {model}` goes on with a model)"


TRY: Final = "Try"
TO_TRY: Final = (
    ("What is this project?", "ask about the folder"),
    ("Explain @README.md", "@ names a file"),
    ("/help", "lists the commands"),
)
NEW_CONVERSATION: Final = "A new conversation."
NEXT_IS_NEW: Final = "A new conversation begins with your next message."


def continuing(title: str, messages: int, model: str) -> str:
    return f"Continuing “{title or UNTITLED}” ({counted(messages, 'message')}, {model})."


# Without a screen

PLAIN_START: Final = "Palimpsest. /help lists the commands. Ctrl-D leaves."
NO_JSON: Final = "--json is for questions, not for commands. Leave it out, or ask something."
NO_QUESTION: Final = "There is no question. Write one behind -p, or pipe one in."


def no_folder(folder: str, why: str) -> str:
    return (
        f"The folder {folder} cannot be opened: {why}. Name another one, or `.` for the current folder. "
        "A question of one word needs a folder before it: palimpsest chat . WORD"
    )


def not_a_folder(path: str) -> str:
    return f"{path} is not a folder."


def not_utf8(line: int) -> str:
    return f"Line {line} is not valid UTF-8. The invalid bytes were replaced."


# The line that says what is waited for, and the line below the input


def working(title: str) -> str:
    return f"{title} …"


def asks_again(reason: str, after_ms: int) -> str:
    return f"{reason} Asking again after {math.ceil(after_ms / 1000)} s"


THINKING: Final = "is thinking"
WRITING: Final = "is writing"
THE_MODEL: Final = "The model"
WORKING: Final = "Working"
STOPPING: Final = "Stopping"
STOP_KEY: Final = "Ctrl-C stops"
ANSWER_FIRST: Final = "Waiting for your answer"
NEXT: Final = "next"
PLACEHOLDER: Final = "Ask, or type / for commands"
QUEUE_PLACEHOLDER: Final = "Type on: it is sent next"
ANSWER_PLACEHOLDER: Final = "Any other line is sent next"
KEYS: Final = "Enter sends · Alt-Enter new line · @ file · / command"
LEAVE_AGAIN: Final = "Press Ctrl-C again or Ctrl-D to leave."
LEAVE_RUNNING: Final = "An answer is being written. Ctrl-C stops it. Press Ctrl-D again to leave."
MORE_LINES: Final = "more"


def fullness(compact: str, model: str) -> str:
    """How full the model's context is: `compact` is such as `2.1k / 200k (1%)`."""
    return f"context {compact} · {model}"


# Answers

ELSEWHERE_WRITTEN: Final = "An answer is being written. It is shown here as it comes."
IN_HISTORY: Final = "Your message is in the input history. Press the up arrow to get it back."
KEPT: Final = "Your message is kept. /retry asks again, /continue goes on with what came of an answer."
STOPPED: Final = "Stopped."
NOT_WAITING: Final = "No longer waiting. /read shows the answer."
CANCELLED: Final = "Cancelled."
THOUGHT: Final = "thinking: "
NO_RESULT: Final = "no result"
NEWER_SERVER: Final = "A part of the answer could not be shown: the server is newer than this client."

ENDINGS: Final = {
    "cancelled": "The answer was cancelled. The part that you see is kept.",
    "interrupted": "The answer was interrupted. The part that was shown is kept.",
    "errored": "The answer failed. The part that you see is kept.",
    "running": "The answer is still being written.",
}
"""By the status of a turn; a complete answer ends by its reason to stop."""
STOP_REASONS: Final[dict[str, str | None]] = {
    "end": None,
    "output_limit": "The model stopped at its output limit, so the answer is incomplete. /continue goes on.",
    "filtered": "The provider's filter ended the answer.",
    "tool_rounds": "The answer ended because the model had called tools too often. /continue goes on.",
}
TOOLS: Final = {
    "read_file": ("Reading", "Read"),
    "list_files": ("Listing", "Listed"),
    "search_files": ("Searching for", "Searched for"),
    "propose_edit": ("Changing", "Changed"),
    "run_command": ("Running", "Ran"),
    "recall": ("Recalling", "Recalled"),
    "tool_output": ("Reading a long result again", "Read a long result again"),
    "facts": ("Looking up facts", "Looked up facts"),
}
"""What a tool does, while it runs and afterwards."""


def stopped_for(reason: str | None) -> str:
    return f"The model stopped: {reason}."


def used(tool: str) -> tuple[str, str]:
    """What a tool does, while it runs and afterwards."""
    return TOOLS.get(tool) or (f"Using {tool}", f"Used {tool}")


def not_done(doing: str, reason: str) -> str:
    return f"{doing}: not done. {reason}"


# Approvals

CHOICES: Final = (("y", "yes"), ("n", "no"), ("a", "always"), ("!", "never"))
THEN_ENTER: Final = "then Enter"
TOO_EARLY: Final = "That came before this could be read. Answer once more."
QUESTION_GONE: Final = "Answered elsewhere, or no longer asked: without a yes, nothing is done."
ANSWERED: Final = {"once": "Yes.", "always": "Yes, always.", "deny": "No.", "never": "No, never."}


def applies(may_be_always: bool, covers: str) -> str:
    return f"`always` and `never` apply to {covers}." if may_be_always else f"`never` applies to {covers}."


def not_approved(title: str, *, is_edit: bool, may_be_always: bool) -> str:
    how = " An `a` (always) that you answer in `palimpsest chat` counts here too." if may_be_always else ""
    if is_edit:
        how += " --accept-edits approves all edits of files."
    return f"Not approved, because there is nobody to ask: {title}{how}"


# Edits of files

NO_EDITS_WITHOUT_TRUST: Final = (
    "This folder is not trusted, so a model can only read here. `palimpsest trust` lets it change files."
)
UNREADABLE_EDIT: Final = "This edit cannot be made here."


def changed_meanwhile(path: str) -> str:
    return f"{path} has changed meanwhile, so nothing was written. Read it again."


def other_encoding(path: str) -> str:
    return f"{path} is not UTF-8 text, so it is not changed."


def outside(path: str) -> str:
    return f"{path} lies outside the folder, so it is not changed."


def no_file(path: str) -> str:
    return f"{path} is no regular file, so it is not changed."


def through_link(path: str) -> str:
    return f"A link leads to {path}, so it is not removed."


def many_names(path: str) -> str:
    return f"{path} has other names (hard links), which may lie outside the folder, so it is not changed."


def read_only(path: str) -> str:
    return f"{path} is read-only, so it is not changed."


def not_written(path: str, why: str) -> str:
    return f"{path} cannot be written: {why}. Nothing was changed."


def not_put_back(paths: Sequence[str]) -> str:
    return f"{' and '.join(paths)} had been written already and could not be put back."


def edited(count: int) -> str:
    what = "it" if count == 1 else "them"
    return f"{counted(count, 'edit')} made. /changes shows {what}, /revert takes {what} back."


# Conversations

UNTITLED: Final = "untitled"
NO_CONVERSATIONS: Final = "There are no conversations in this folder yet."
RESUME_COLUMNS: Final = ("No.", "Title", "Messages", "Changed")
HOW_TO_RESUME: Final = "/resume N goes on with one of them: its number or title."
NO_LONGER: Final = "This conversation no longer exists. /resume shows those that do."


def nothing_matches(wanted: str) -> str:
    return f"There is no conversation “{wanted}” here. /resume lists them, as `palimpsest export` does in a shell."


def several(matches: Sequence[tuple[int, str]]) -> str:
    meant = ", ".join(f"{number} ({shown})" for number, shown in matches)
    return f"Several conversations match: {meant}. Name one by its number or id."


# Shared conversations

SOMEBODY: Final = "Somebody else"
NOT_SHOWN: Final = "The answer goes on, and is not shown here any more. /read shows it."
BROKE_OFF: Final = "The answer broke off. /read shows what there is of it."
SHARED_NO_LONGER: Final = "This conversation is shared no longer: what is said from now on is yours alone."
OTHERS_WROTE: Final = "Others wrote here meanwhile. /read shows it."
FORK_HINT: Final = "/fork goes on in a fork; your message is in the input history (the up arrow)."


def shared_with(team: str) -> str:
    return f"It is shared with the team {team}." if team else "It is shared."


def others_write(name: str, work: str, *, is_self: bool) -> str:
    return f"You are {work} on another machine." if is_self else f"{name} is {work}."


def asked_by(name: str, text: str) -> str:
    return f"{name}: {text}"


def moved_apart(title: str, fork_title: str) -> str:
    return (
        f"Somebody else wrote “{title or UNTITLED}” while the hub was away. What you wrote there meanwhile is in "
        f"“{fork_title or UNTITLED}” now. /resume shows it."
    )


# Commands of the terminal's own, summaries, and what goes wrong

OWN_COLUMNS: Final = ("In the terminal", "What it does")
NONE_TO_ADOPT: Final = "There are no conversations of a moved folder to bring here."
HOW_TO_ADOPT: Final = "/adopt yes copies them. /adopt no stops this offer."
NOT_OFFERED_AGAIN: Final = "They are not offered here again. `palimpsest adopt` can still bring them."
ADOPT_WRONG: Final = "Type /adopt yes or /adopt no."
READ_WRONG: Final = "Type /read N, with the number of a message."
NO_CONVERSATION: Final = "There is no conversation yet. Send a message first."
EMPTY: Final = "The conversation is empty."
BEING_WRITTEN: Final = "(an answer is being written)"

GUARD_OUTCOMES: Final = {
    "forced_final": "The model's window is nearly full, so it was asked for its final answer.",
    "skipped_provider": "The conversation does not fit this model's window, so another model was tried.",
    "token_budget_exceeded": "A tool's result did not fit the model's window and was left out.",
}
"""By the outcome of the check that a request fits."""
NO_SUMMARY: Final = "The summary could not be written."
NOT_RECALLED: Final = "The model's window is full: text found in earlier messages was not added to yours."
RULES_CAP: Final = "Your rules take too much room, so the oldest now count as ordinary text. /pin keeps a rule."
CLOSED: Final = "The connection to the server was closed."
ENDED: Final = "The server has ended."
NOT_AN_OBJECT: Final = "The server sent a message that is not a JSON object."
NO_REASON: Final = "The server could not do this and gave no reason."
NO_SERVER: Final = "This server is not a Palimpsest server."
LAST_LINES: Final = "Its last lines:"


def to_adopt(path: str) -> str:
    return f"The folder {path} no longer exists. Its conversations can be brought here."


def adopted(copied: str) -> str:
    return f"Copied {copied}. /resume shows the conversations."


def damaged(conversations: Sequence[str]) -> str:
    return f"These are damaged and were not copied: {', '.join(conversations)}. `palimpsest rescue` may save them."


def no_argument(command: str) -> str:
    return f"/{command} takes no argument."


def no_command(name: str, hint: str) -> str:
    return f"There is no command /{name}. {hint}"


def no_message(number: int) -> str:
    return f"The conversation has no message {number}."


def more_to_read(number: int) -> str:
    return f"There is more: /read {number}"


def summarizing(messages: str) -> str:
    return f"Summarizing {messages}…"


def summarizing_so_far(done: int, messages: str) -> str:
    return f"Summarizing: {done} of {messages}…"


def summarized(messages: str, saved: str) -> str:
    return f"Summarized {messages}{saved}."


def left_out(messages: str) -> str:
    return f"Summaries are switched off, so messages {messages} are no longer sent."


def other_version(server: object, client: int) -> str:
    return f"The server speaks version {server} of the protocol; this client speaks {client}."


def ended_unexpectedly(status: str) -> str:
    return f"The server has ended unexpectedly ({status})."


def not_a_message(why: str) -> str:
    return f"The server sent something that is not a message: {why}"


def not_started(why: str) -> str:
    return f"The server could not be started: {why}"


def bad_answer(method: str, why: str) -> str:
    return f"The server's answer to {method} is not valid: {why}"


def no_history(why: str) -> str:
    return f"Your input history is not kept: {why}"
