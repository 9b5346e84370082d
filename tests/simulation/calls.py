"""What models' calls of tools may do: what users were asked and said, and what was done.

Every call holds a mark that no other call holds, so that a question, a program or an edit tells whose it is; only bare
commands hold none.
"""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.editor import Message
from tests.simulation.programs import Program, Programs
from tests.simulation.scheduler import NODE
from tests.simulation.world import World

from palimpsest.domain.messages import Content, TurnId
from palimpsest.services.folder.session import FolderSession

if TYPE_CHECKING:
    from tests.simulation.oracle import Oracle

MARK: Final = re.compile(r"call\d{4}x\d+")
BARE: Final = ("pump", "check")
"""A command without a mark, with which others begin: what is always allowed of it covers them."""
ALLOWS: Final = ("once", "always")
_FINAL: Final = ("committed", "cancelled", "interrupted", "errored")
_BEGINNING: Final = "commands in the workspace folder that begin with: "


@dataclass(eq=False, slots=True)
class Call:
    """One that a model makes, or all of the bare command."""

    key: str
    tool: str
    covers: str
    """What a rule would have to cover: a path, a command, or the tool."""
    n_made: int = 0
    """How often models are to make it."""
    n_allowed: int = 0
    """Answers that let it run, each given while its question stood, and that it has not run by."""
    n_run: int = 0
    n_done: int = 0
    """How often whoever ran it said that it was done."""
    is_read_only: bool = False


@dataclass(frozen=True, slots=True)
class _Rule:
    tool: str
    covers: str
    answer: str


class Calls:
    """All of a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.all: dict[str, Call] = {}
        self.said: dict[_Rule, None] = {}
        """Every answer that may be kept."""
        self.new_rules: set[tuple[str, str]] = set()
        """Tools and what always holds of them, said since the last look."""
        self.old_rules: set[tuple[str, str]] = set()
        """… and kept at the last look."""
        self.turns: dict[Program, str] = {}
        """Of programs: whose they are."""
        self.revoked: set[int] = set()
        """Numbers of rules of which a server said that they are taken back."""
        world.part(Programs).on_start = self._start

    def make(self, key: str, tool: str, covers: str, *, is_read_only: bool = False) -> None:
        call = self.all.setdefault(key, Call(key, tool, covers, is_read_only=is_read_only))
        call.n_made += 1

    # ------------------------------------------------------------------------------------------------- what is asked

    def asked(self, params: Message) -> Call | None:
        """Which call a question is about."""
        lines = params["shown"].splitlines()
        if params["tool"] == "propose_edit":
            before = {mark for line in lines if line.startswith("-") for mark in MARK.findall(line)}
            marks = {mark for line in lines if line.startswith("+") for mark in MARK.findall(line)} - before
        else:
            marks = set(MARK.findall(params["shown"]))
        keys = sorted(marks) or [params["shown"]]
        call = self.all.get(keys[0])
        if call is None or len(keys) > 1 or call.tool != params["tool"] or call.is_read_only:
            self.world.problem("asked about nothing", f"{params['tool']}: {params['shown'][:80]}")
            return None
        return call

    def answered(self, call: Call, params: Message, answer: str) -> None:
        """A user has said so while the question stood."""
        is_always = answer == "always" and params["mayBeAlways"]
        if answer in ALLOWS:
            call.n_allowed += 1
        if is_always or answer == "never":
            self.said[_Rule(params["tool"], params["covers"], answer)] = None
        if is_always:
            self.new_rules.add((params["tool"], params["covers"]))

    # -------------------------------------------------------------------------------------------------- what is done

    def _start(self, program: Program) -> None:
        self.turns[program] = self.runs(key_of(program), "run_command")

    def sent(self, frame: bytes) -> None:
        """By a server to an editor."""
        message = json.loads(frame.partition(b"\r\n\r\n")[2])
        params = message.get("params")
        if message.get("method") == "palimpsest/tools/run":
            found = MARK.findall(json.dumps(params["arguments"]))
            self.runs(found[0], f"editor_{params['name']}")
        elif message.get("method") == "workspace/applyEdit" and params.get("label") == "Palimpsest":
            texts = [edit["newText"] for each in params["edit"]["documentChanges"] for edit in each.get("edits", ())]
            self.runs(MARK.findall(" ".join(texts))[0], "propose_edit")

    def runs(self, key: str, tool: str) -> str:
        """A server lets it happen, now, in the task of a turn, whose id it tells."""
        call = self.all.get(key)
        if call is None or call.tool != tool:
            self.world.problem("ran what nobody called", f"{tool} {key}")
            return ""
        call.n_run += 1
        said = f"{tool} {key}"
        if call.n_run > call.n_made:
            self.world.problem("ran twice", said)
        if not call.is_read_only:
            if call.n_allowed:
                call.n_allowed -= 1
            elif not any(self._covers(each, call) for each in self.old_rules | self.new_rules):
                self.world.problem("ran without approval", said)
            if not self._is_trusted():
                self.world.problem("ran without trust", said)
        task = asyncio.current_task(self.world.loop)
        turn_id = "" if task is None else task.get_name().removeprefix("turn ")
        running = next(
            (each.turns.running[TurnId(turn_id)] for each in self._sessions() if turn_id in each.turns.running), None
        )
        if running is None:
            self.world.problem("ran in no turn", said)
        elif running._stopped_as is not None:
            self.world.problem("ran after it was cancelled", said)
        return turn_id

    @staticmethod
    def _covers(rule: tuple[str, str], call: Call) -> bool:
        tool, covers = rule
        if tool != call.tool:
            return False
        if tool == "run_command":
            return f"{call.covers} ".startswith(f"{covers.removeprefix(_BEGINNING)} ")
        return covers == call.covers

    def _is_trusted(self) -> bool:
        """By the server whose code runs."""
        return any(each.folder.trust.is_trusted for each in self._sessions())

    def _sessions(self) -> list[FolderSession]:
        """The sessions of the server whose code runs, also of one that is closing."""
        node = NODE.get(None)
        return [session for server in self.world.servers if server.node is node for session in server.sessions]

    # ------------------------------------------------------------------------------------------------------- looking

    def look(self, oracle: Oracle) -> None:
        for call in self.all.values():
            if call.tool == "run_command":
                own = [each for each in self.world.part(Programs).all if key_of(each) == call.key]
                call.n_done = sum(each.status is not None for each in own)
        self._look_at_rules(oracle)
        self._look_at_results(oracle)
        self.world.part(Programs).look()

    def _look_at_rules(self, oracle: Oracle) -> None:
        self.old_rules, self.new_rules = set(), set()
        for number, tool, words, answer in oracle.view.ask("SELECT number, tool, words, answer FROM approval_rule"):
            covers = _described(tool, json.loads(words))
            if _Rule(tool, covers, answer) not in self.said:
                self.world.problem("approval that nobody gave", f"{answer} {tool} {covers}")
            if number in self.revoked:
                self.world.problem("approval that was taken back", f"{answer} {tool} {covers}")
            if answer == "always":
                self.old_rules.add((tool, covers))

    def _look_at_results(self, oracle: Oracle) -> None:
        """Each call that is stored has one result, and it says what was done."""
        called: dict[tuple[str, str], int] = {}
        results: dict[tuple[str, str], list[Any]] = {}
        final = {turn for (turn,) in oracle.view.ask(f"SELECT id FROM turn WHERE state IN {_FINAL}")}
        for turn, content in oracle.view.ask(
            "SELECT turn, content FROM message WHERE turn IS NOT NULL AND content LIKE '%tool_%' ORDER BY id"
        ):
            said = Content.from_json(json.loads(content))
            if turn not in final:
                continue
            for each in said.calls:
                called[turn, each.call_id] = called.get((turn, each.call_id), 0) + 1
            for result in said.results:
                results.setdefault((turn, result.call_id), []).append(result)
        for at, n_called in called.items():
            if n_called != 1 or len(results.get(at, ())) != 1:
                self.world.problem("not one result", f"{at[1]}: {n_called} calls, {len(results.get(at, ()))} results")
        for (_, call_id), (first, *_) in results.items():
            key = call_id.removeprefix("id-")
            if (call := self.all.get(key)) is not None:
                self._look_at_result(call, first)

    def _look_at_result(self, call: Call, result: Any) -> None:
        has_refused = re.match(
            r"The user said no|The user never allows|No editor is connected that can ask|The user does not trust",
            result.text,
        )
        if has_refused and call.n_run:
            self.world.problem("refused and done", f"{call.tool} {call.key}: {result.text[:60]}")
        says_done = not result.is_error and result.name == call.tool
        if says_done and not call.n_done:
            self.world.problem("said to be done", f"{call.tool} {call.key}: {result.text[:60]}")


def key_of(program: Program) -> str:
    said = shlex.join(program.command)
    return next(iter(MARK.findall(said)), said)


def _described(tool: str, words: list[str]) -> str:
    """The description of a rule's scope that users see."""
    if tool == "run_command":
        return _BEGINNING + shlex.join(words[1:])
    return f"edits of {words[0]}" if tool == "propose_edit" else f"every call of {tool}"
