"""The user's approval before a tool changes something: the question, the answers, and the later calls that an answer
covers.

The question shows the complete effect. Every character that is invisible or changes how others are displayed is written
as its number: `⟨U+202E⟩`. Two different commands never look alike.

An answer that is kept is a rule. It covers the calls of one tool whose words begin with the rule's words, each compared
exactly. A command's words are its folder and its arguments, an edit's word is the path. An editor's tool has no words,
so a rule covers every call of it.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

RUN_COMMAND: Final = "run_command"
PROPOSE_EDIT: Final = "propose_edit"
START_SERVER: Final = "mcp server"
"""The name of the rules that allow servers of a folder's files. It has a blank, so it is the name of no tool."""

FETCH_PAGE: Final = "web page"
"""The name of the rules for hosts whose pages a message mentions. It is the name of no tool either."""


class Answer(StrEnum):
    """The user's answer to a request."""

    ONCE = "once"
    """Yes, this time."""
    ALWAYS = "always"
    """Yes, and also to everything that the request's rule covers, until it is revoked."""
    DENY = "deny"
    """No, this time."""
    NEVER = "never"
    """No, and also to everything that the request's rule covers, until it is revoked."""


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A call that waits for the user's answer."""

    tool: str
    words: tuple[str, ...]
    """The words that rules are compared with."""
    title: str
    """The question, on one line."""
    shown: str
    """The complete effect. Line ends and tabs are its only invisible characters."""
    may_be_always: bool = True
    """False when no rule may allow the call: the arguments of a shell may do anything."""
    covered: str = ""
    """A description of the calls that the answer covers, where no rule is kept."""

    @property
    def covers(self) -> str:
        """A description of the calls that a rule would cover, for display after "always" or "never"."""
        return self.covered or describe(self.tool, self.words)


@dataclass(frozen=True, slots=True)
class Rule:
    """An answer that is kept."""

    tool: str
    words: tuple[str, ...]
    answer: Literal[Answer.ALWAYS, Answer.NEVER]

    def covers(self, request: ApprovalRequest) -> bool:
        if self.answer is Answer.ALWAYS and not request.may_be_always:
            return False
        return self.tool == request.tool and request.words[: len(self.words)] == self.words


def decide(rules: Iterable[Rule], request: ApprovalRequest) -> Literal[Answer.ALWAYS, Answer.NEVER] | None:
    """The answer of the rules; None when the user must be asked. A rule that denies wins."""
    said = {rule.answer for rule in rules if rule.covers(request)}
    return Answer.NEVER if Answer.NEVER in said else Answer.ALWAYS if said else None


def describe(tool: str, words: Sequence[str]) -> str:
    """A description of the calls that a rule with these words covers."""
    if tool == RUN_COMMAND and words:
        return f"commands in {_folder(words[0])} that begin with: {show_command(words[1:])}"
    if tool == PROPOSE_EDIT and words:
        return f"edits of {visible(words[0])}"
    if tool == START_SERVER and len(words) > 1:
        return f"the MCP server {visible(words[0])}, exactly as it is configured: {visible(words[1])}"
    if tool == FETCH_PAGE and words:
        return f"pages of {visible(words[0])}, when you mention them"
    return f"every call of {visible(tool)}"


def command_request(command: Sequence[str], cwd: str, timeout_s: int) -> ApprovalRequest:
    """The request for a command, program first, in a folder below the workspace folder."""
    return ApprovalRequest(
        RUN_COMMAND,
        (cwd, *command),
        f"Run this command in {_folder(cwd)}, for at most {timeout_s} s?",
        show_command(command),
        may_be_always=not runs_what_it_is_given(command),
    )


def edit_request(path: str, diff: str) -> ApprovalRequest:
    return ApprovalRequest(PROPOSE_EDIT, (path,), f"Change {visible(path)}?", visible(diff, keep="\n\t"))


def editor_tool_request(name: str, arguments: str) -> ApprovalRequest:
    """The request for a call of an editor's tool; `arguments` is JSON in any layout."""
    return ApprovalRequest(name, (), f"Let the editor run {visible(name)}?", visible(arguments, keep="\n"))


def page_request(site: str, urls: Sequence[str], led_from: str | None = None) -> ApprovalRequest:
    """The request for the pages of one site that a message mentions, or to which the host `led_from` leads on."""
    title = (
        f"Fetch from {visible(site)} what your message mentions?"
        if led_from is None
        else f"{visible(led_from)} leads on to {visible(site)}. Fetch the page from there?"
    )
    return ApprovalRequest(FETCH_PAGE, (site,), title, visible("\n".join(urls), keep="\n"))


def _folder(cwd: str) -> str:
    return "the workspace folder" if cwd == "." else visible(cwd)


# ------------------------------------------------------------------------------------------------------ display

_HIDDEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Characters that are invisible although their category is letter, mark or symbol: Default_Ignorable_Code_Point of
Unicode 16 (DerivedCoreProperties.txt), and characters with a blank glyph."""
_UNSHOWN: Final = frozenset(("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"))
_OPENING: Final = "\u27e8"


def visible(text: str, *, keep: str = "") -> str:
    """The text with each invisible character written as its number. Different texts stay different.

    `keep` lists invisible characters that stay. A blank always stays.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(each) if each not in keep else each for each in text)


def show_command(command: Sequence[str]) -> str:
    """A command on one line, quoted for a POSIX shell. Different commands look different."""
    return visible(shlex.join(command))


def _shown(character: str) -> str:
    is_seen = unicodedata.category(character) not in _UNSHOWN and _HIDDEN.match(character) is None
    # The bracket is escaped too, or a text could imitate a mark.
    if character == " " or (is_seen and character != _OPENING):
        return character
    return f"{_OPENING}U+{ord(character):04X}\u27e9"


# ------------------------------------------------------------------------------------- commands that could be anything

_LAUNCHERS: Final = frozenset(
    # shells
    "ash bash busybox cmd csh dash elvish fish ksh mksh nu powershell pwsh rbash sh tcsh toybox xonsh zsh "
    # programs that start the program they are given
    "at batch bunx caffeinate chroot crontab doas docker env eval exec expect fd find firejail flatpak gdb ionice "
    "kubectl lldb ltrace nice nohup npx nsenter open parallel pipx pkexec podman runas runuser schtasks screen script "
    "setsid ssh start stdbuf strace su sudo systemd-run time timeout tmux unshare uvx watch wsl xargs xdg-open "
    # languages whose first argument is the program, or may be
    "awk bun deno ed emacs ex gawk mawk nawk nvim osascript sed tclsh vi vim wish".split()
)
_INTERPRETERS: Final = frozenset(
    "elixir erl ghci groovy guile irb jshell julia lua luajit node nodejs perl php py pypy python pythonw r racket "
    "raku rscript ruby sbcl scala swift ts-node tsx".split()
)
_MODULE_RUNNERS: Final = frozenset(("py", "pypy", "python", "pythonw"))
_SUFFIXES: Final = (".bat", ".cmd", ".com", ".exe")


def runs_what_it_is_given(command: Sequence[str]) -> bool:
    """Whether the program is a shell, starts other programs, or is an interpreter without a script or a module.

    A rule for the beginning of such a command would allow everything.
    """
    program = _program(command[0])
    if program in _LAUNCHERS:
        return True
    if program not in _INTERPRETERS:
        return False
    if len(command) > 2 and program in _MODULE_RUNNERS and command[1] == "-m":
        return False
    return len(command) < 2 or command[1].startswith("-")


def _program(word: str) -> str:
    """The program's name without folders, a Windows suffix or a version."""
    name = re.split(r"[/\\]", word)[-1].casefold()
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return re.sub(r"[-_.\d]+$", "", name) or name
