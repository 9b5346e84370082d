/** One message, and the answer that is coming. */
import { Fragment } from "preact";
import { memo } from "preact/compat";
import { useEffect, useRef, useState } from "preact/hooks";

import type { Live, LivePart } from "../messages";
import type { Costs, MessageInfo, MessagePart } from "../protocol.gen";
import { CHAT, COMPOSER, COSTS, ENDINGS, HISTORY, SAID } from "../texts";
import { ANSWERS, describeTokens, price, tokensOf } from "./costs";
import { short, spent, time } from "./figures";
import { useContextMenu } from "./menu";
import { Icon, IconButton } from "./page_head";
import { useEnds } from "./post";
import { Picture } from "./pictures";
import { GrowingMarkdown, Markdown } from "./text";
import { callOf, type Steps } from "./steps";
import { Attached, AttachedChips, Thinking, ToolCalls, type ToolCall } from "./tool_line";
import { visible } from "./visible";
import { Pause, Working } from "./waiting";

const NAMES = { user: CHAT.you, assistant: "Palimpsest", tool: HISTORY.roles.tool } as const;
const ENDS = { complete: "", interrupted: ENDINGS.closed, cancelled: ENDINGS.stopped, errored: ENDINGS.brokeOff } as const;

export function Skeleton({ id }: { readonly id: number }) {
    return <article class="skeleton" tabIndex={-1} aria-label={SAID.beingRead(id)} aria-busy="true" />;
}

interface RowProps {
    readonly message: MessageInfo;
    readonly total: number;
    readonly isMarked: boolean;
    /** What is shown here beside the message, as far as it is there. */
    readonly steps: Steps;
    readonly isNewest: boolean;
    /** Whether nothing of its turn comes behind it: there the row of actions has its place. */
    readonly isTurnEnd: boolean;
    /** How long its turn took. */
    readonly seconds: number | undefined;
    /** What its turn cost, when that is known. */
    readonly cost: Costs | undefined;
    /** The turn that can be asked again. */
    readonly retry: string | undefined;
}

const areSame = (a: readonly unknown[], b: readonly unknown[]): boolean => a.length === b.length && a.every((each, index) => each === b[index]);

function isSame(a: RowProps, b: RowProps): boolean {
    return a.message === b.message && a.total === b.total && a.isMarked === b.isMarked && a.isNewest === b.isNewest && a.isTurnEnd === b.isTurnEnd && a.seconds === b.seconds && a.cost === b.cost && a.retry === b.retry && areSame(a.steps.calls, b.steps.calls) && areSame(a.steps.results, b.steps.results);
}

export const MessageRow = memo(function MessageRow({ message, total, isMarked, steps, isNewest, isTurnEnd, seconds, cost, retry }: RowProps) {
    const { post } = useEnds();
    const [edited, setEdited] = useState<string | undefined>(undefined);
    const isOthers = message.role === "user" && message.author !== undefined;
    const name = isOthers ? visible(message.author ?? "") : NAMES[message.role];
    const label = SAID.messageOf(name, message.id);
    const isAsk = message.role === "user";
    const actions: Action[] = [
        { icon: "copy", name: isAsk ? CHAT.copy : CHAT.copyAnswer, does: () => post({ type: "copy", text: message.text }) },
        ...(retry === undefined || isAsk ? [] : [{ icon: "refresh", name: CHAT.tryAgain, does: () => post({ type: "retry", turnId: retry }) }]),
        { icon: "repo-forked", name: CHAT.fork, does: () => post({ type: "fork", messageId: message.id }) },
    ];
    if (isAsk) {
        actions.unshift({ icon: "edit", name: CHAT.edit, does: () => setEdited(message.text) });
    }
    const asked = useRef<string | undefined>(undefined);
    const { turnId } = message;
    const wantsCost = isTurnEnd && !isAsk && turnId !== undefined && cost === undefined;
    const askCost = () => {
        if (wantsCost && asked.current !== turnId) {
            asked.current = turnId;
            post({ type: "costs", turnId });
        }
    };
    useEffect(() => {
        if (cost !== undefined) {
            asked.current = undefined; // it may be forgotten, when the turn goes on
        } else if (isNewest) {
            askCost();
        }
    }, [cost, isNewest, wantsCost]);
    const canAct = message.role !== "tool" && message.isPurged !== true && !message.isHidden && edited === undefined;
    const onContextMenu = useContextMenu(label, () => (canAct ? actions.map((each) => ({ label: each.name, icon: each.icon, onPick: each.does })) : []));
    if (message.isPurged === true) {
        return <p class="gone">{CHAT.deleted(message.id)}</p>;
    }
    const kind = isAsk ? `ask${isOthers ? " from-other" : ""}` : `answer${isNewest ? " is-newest" : ""}`;
    const parts = <Parts parts={[...message.parts, ...steps.calls]} results={steps.results} isAsk={isAsk} />;
    const end = ENDS[message.state as keyof typeof ENDS] ?? ENDINGS.brokeOff;
    return (
        <article class={`${kind}${isMarked ? " marked" : ""}`} tabIndex={-1} aria-label={label} aria-posinset={message.id + 1} aria-setsize={total} onContextMenu={onContextMenu} onPointerEnter={askCost} onFocusIn={askCost} onKeyDown={(event) => { actByKey(event, canAct ? actions : []); }} data-testid={`message-${message.id}`}>
            {message.isHidden ? (
                <details class="tool">
                    <summary><Icon name="discard" /><span class="verb">{name}: {CHAT.hidden.toLowerCase()}</span><Icon name="chevron-right turn-arrow" /></summary>
                    <div class="inside">{parts}</div>
                </details>
            ) : (
                <>
                    {isOthers ? <span class="who">{name}</span> : <span class="sr">{name}: </span>}
                    {edited === undefined ? parts : <Edit text={edited} onDone={(text) => { setEdited(undefined); if (text !== undefined) { post({ type: "editAndFork", messageId: message.id, text }); } }} />}
                    {end !== "" && !isNewest && <p class="ended">{end}</p>}
                    {message.notes.map((note, index) => <p key={index} class="ended">{visible(note)}</p>)}
                    {canAct && (isAsk || isTurnEnd) && (
                        <div class="acts" role="toolbar" aria-label={retry !== undefined && !isAsk ? CHAT.lastAnswer : SAID.actionsOf(label)}>
                            {actions.map((each) => <IconButton key={each.icon} icon={each.icon} name={each.name} onClick={each.does} />)}
                            {!isAsk && <Meta message={message} seconds={seconds} cost={cost} />}
                        </div>
                    )}
                </>
            )}
        </article>
    );
}, isSame);

interface Action {
    readonly icon: string;
    readonly name: string;
    readonly does: () => void;
}

const KEYS: Readonly<Record<string, string>> = { c: "copy", r: "refresh", f: "repo-forked", e: "edit" };

/** While the focus is on a message itself: C copies, R tries again, F forks, E edits. */
function actByKey(event: KeyboardEvent, actions: readonly Action[]): void {
    const action = actions.find((each) => each.icon === KEYS[event.key.toLowerCase()]);
    if (event.target === event.currentTarget && action !== undefined && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        action.does();
    }
}

/** Which model answered, when, how long that took, and what it cost; where there is little room the time of day is left out. */
function Meta({ message, seconds, cost }: { readonly message: MessageInfo; readonly seconds: number | undefined; readonly cost: Costs | undefined }) {
    const at = new Date(message.createdAt);
    if (Number.isNaN(at.getTime())) {
        return null;
    }
    const model = cost?.lines.findLast((each) => each.purpose === ANSWERS)?.model;
    const parts = [
        model !== undefined && <span class="ellipsis">{visible(model)}</span>,
        <span class={model === undefined ? "" : "hide-mid"}>{time(at)}</span>,
        seconds !== undefined && seconds > 0 && <span>{spent(seconds)}</span>,
        cost !== undefined && cost.lines.length > 0 && <span title={describeTokens(cost)} data-testid="turn-cost">{inShort(cost)}</span>,
    ].filter((each) => each !== false);
    return <span class="meta">{parts.map((part, index) => <Fragment key={index}>{part}{index < parts.length - 1 && <span class={part.props.class === "hide-mid" ? "hide-mid" : ""}> · </span>}</Fragment>)}</span>;
}

/** Money, or so many tokens. */
function inShort(cost: Costs): string {
    const { sent, answered } = tokensOf(cost);
    return price(cost) ?? `${short(sent + answered)} ${COSTS.tokens}`;
}

function Edit({ text, onDone }: { readonly text: string; readonly onDone: (text: string | undefined) => void }) {
    const [value, setValue] = useState(text);
    return (
        <form class="composer edit" onSubmit={(event) => { event.preventDefault(); onDone(value); }}>
            <div class="box">
                <textarea aria-label={COMPOSER.editName} value={value} rows={4} onInput={(event) => setValue(event.currentTarget.value)} onKeyDown={(event) => { if (event.key === "Escape") { onDone(undefined); } }} />
                <div class="bar">
                    <span class="spring" />
                    <button type="button" class="btn second" onClick={() => onDone(undefined)}>{CHAT.cancel}</button>
                    <button type="submit" class="btn" disabled={value.trim() === ""}>{CHAT.sendInFork}</button>
                </div>
            </div>
        </form>
    );
}

interface PartsProps {
    readonly parts: readonly MessagePart[];
    readonly results: readonly MessagePart[];
    readonly isAsk: boolean;
}

/** The parts of a message, with calls behind each other as one run. What was attached stands under the words. */
function Parts({ parts, results, isAsk }: PartsProps) {
    const shown = [];
    let calls: ToolCall[] = [];
    const endRun = () => {
        if (calls.length > 0) {
            shown.push(<ToolCalls key={shown.length} calls={calls} />);
            calls = [];
        }
    };
    for (const part of parts) {
        if (part.type === "tool_call") {
            calls.push(callOf(part, results));
        } else if (part.type === "tool_result") { // of a call that is not in sight
            calls.push({ name: part.name ?? "", arguments: "", result: part.text ?? "", isError: part.isError });
        } else if (part.type !== "attachment" || !isAsk) {
            endRun();
            shown.push(<Part key={shown.length} part={part} />);
        }
    }
    endRun();
    const attached = isAsk ? parts.filter((each) => each.type === "attachment") : [];
    return <>{shown}{attached.length > 0 && <AttachedChips attached={attached} />}</>;
}

function Part({ part }: { readonly part: MessagePart }) {
    switch (part.type) {
        case "text":
            return <Markdown text={part.text ?? ""} />;
        case "reasoning":
            return <Thinking text={part.text ?? ""} />;
        case "image":
            return <Picture part={part} />;
        default:
            return <Attached icon="note" title={visible(part.name ?? part.type)} text={part.text ?? ""} />;
    }
}

interface LiveProps {
    readonly live: Live;
    /** Whether the question is among the messages already. */
    readonly isAsked: boolean;
    /** The model that answers, when it is known. */
    readonly model: string | undefined;
}

export function LiveAnswer({ live, isAsked, model }: LiveProps) {
    return (
        <>
            {live.question !== undefined && !isAsked && (
                <div class="row">
                    <article class="ask" tabIndex={-1} aria-label={SAID.justNow} data-testid="question">
                        <span class="sr">{CHAT.you}: </span>
                        <Markdown text={live.question} />
                    </article>
                </div>
            )}
            <div class="row">
                <article class="answer live" tabIndex={-1} aria-label={SAID.answering} aria-busy="true" data-testid="live">
                    {liveRows(live.parts)}
                    {live.pause !== undefined ? <Pause key={live.pause.seq} pause={live.pause} /> : isWaiting(live.parts) && <Working key={live.parts.length} model={model} />}
                </article>
            </div>
        </>
    );
}

/** Whether the model is waited for: nothing came yet, or the tools that it called have ended. */
function isWaiting(parts: readonly LivePart[]): boolean {
    const last = parts.at(-1);
    return last === undefined || (last.type === "tool" && parts.every((each) => each.type !== "tool" || each.result !== undefined));
}

function liveRows(parts: readonly LivePart[]) {
    const rows = [];
    for (let start = 0; start < parts.length; ) {
        let end = start;
        const calls: ToolCall[] = [];
        for (let part = parts[end]; part?.type === "tool"; part = parts[++end]) {
            calls.push({ name: part.name, arguments: part.arguments, output: part.output, result: part.result, isError: part.isError, isRunning: part.result === undefined });
        }
        const part = parts[start];
        if (calls.length > 0) {
            rows.push(<ToolCalls key={start} calls={calls} />);
            start = end;
        } else {
            if (part !== undefined && part.type !== "tool") {
                rows.push(<LivePartRow key={start} part={part} isLast={start === parts.length - 1} />);
            }
            start++;
        }
    }
    return rows;
}

function LivePartRow({ part, isLast }: { readonly part: Exclude<LivePart, { type: "tool" }>; readonly isLast: boolean }) {
    switch (part.type) {
        case "text":
            return <GrowingMarkdown text={part.text} />;
        case "thinking":
            return <Thinking text={part.text} isRunning={isLast} />;
        case "error":
            return <p class="bad">{visible(part.text)}</p>;
    }
}
