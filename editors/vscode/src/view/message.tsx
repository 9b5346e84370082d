/** One message, and the answer that is coming. */
import { memo } from "preact/compat";
import { useState } from "preact/hooks";

import type { Live, LivePart } from "../messages";
import type { MessageInfo, MessagePart } from "../protocol.gen";
import { CHAT } from "../texts";
import { Icon, IconButton } from "./page_head";
import { useEnds } from "./post";
import { GrowingMarkdown, Markdown } from "./text";
import { Attached, Thinking, ToolLine } from "./tool_line";
import { visible } from "./visible";

const NAMES = { user: CHAT.you, assistant: "Palimpsest", tool: "Tool" } as const;
const ENDS = { complete: "", interrupted: "The server ended during this message.", cancelled: "This answer was cancelled.", errored: "This answer was errored." } as const;

export function Skeleton({ id }: { readonly id: number }) {
    return <article class="skeleton" tabIndex={-1} aria-label={`Message ${id} is being read`} aria-busy="true" />;
}

interface RowProps {
    readonly message: MessageInfo;
    readonly total: number;
    readonly isMarked: boolean;
    /** The results of its calls, as far as they are here. */
    readonly results: readonly MessagePart[];
    readonly isNewest: boolean;
}

function isSame(a: RowProps, b: RowProps): boolean {
    return a.message === b.message && a.total === b.total && a.isMarked === b.isMarked && a.isNewest === b.isNewest && a.results.length === b.results.length && a.results.every((each, index) => each === b.results[index]);
}

export const MessageRow = memo(function MessageRow({ message, total, isMarked, results, isNewest }: RowProps) {
    const { post } = useEnds();
    const [edited, setEdited] = useState<string | undefined>(undefined);
    const isOthers = message.role === "user" && message.author !== undefined;
    const name = isOthers ? visible(message.author ?? "") : NAMES[message.role];
    const label = `${name}, message ${message.id}`;
    if (message.isPurged === true) {
        return <p class="gone">Message {message.id} {CHAT.deleted}</p>;
    }
    const kind = message.role === "user" ? `ask${isOthers ? " from-other" : ""}` : `answer${isNewest ? " is-newest" : ""}`;
    const parts = message.parts.map((part, index) => <Part key={index} part={part} results={results} />);
    const end = ENDS[message.state as keyof typeof ENDS] ?? `This answer was ${message.state}.`;
    return (
        <article class={`${kind}${isMarked ? " marked" : ""}`} tabIndex={-1} aria-label={label} aria-posinset={message.id + 1} aria-setsize={total} data-testid={`message-${message.id}`}>
            {message.isHidden ? (
                <details class="tool">
                    <summary><Icon name="discard" /><span class="verb">{name}: {CHAT.hidden.toLowerCase()}</span><Icon name="chevron-right turn-arrow" /></summary>
                    <div class="inside">{parts}</div>
                </details>
            ) : (
                <>
                    {isOthers ? <span class="who">{name}</span> : <span class="sr">{name}: </span>}
                    {edited === undefined ? parts : <Edit text={edited} onDone={(text) => { setEdited(undefined); if (text !== undefined) { post({ type: "editAndFork", messageId: message.id, text }); } }} />}
                    {end !== "" && <p class="ended">{end}</p>}
                    {message.notes.map((note, index) => <p key={index} class="ended">{visible(note)}</p>)}
                    {message.role !== "tool" && edited === undefined && (
                        <div class="acts" role="toolbar" aria-label={`Actions of ${label}`}>
                            <IconButton icon="copy" name={message.role === "user" ? CHAT.copy : CHAT.copyAnswer} onClick={() => post({ type: "copy", text: message.text })} />
                            {message.role === "user" && <IconButton icon="edit" name={CHAT.edit} onClick={() => setEdited(message.text)} />}
                            <IconButton icon="repo-forked" name={CHAT.fork} onClick={() => post({ type: "fork", messageId: message.id })} />
                        </div>
                    )}
                </>
            )}
        </article>
    );
}, isSame);

function Edit({ text, onDone }: { readonly text: string; readonly onDone: (text: string | undefined) => void }) {
    const [value, setValue] = useState(text);
    return (
        <form class="composer edit" onSubmit={(event) => { event.preventDefault(); onDone(value); }}>
            <div class="box">
                <textarea aria-label="The message as it is sent in the fork" value={value} rows={4} onInput={(event) => setValue(event.currentTarget.value)} onKeyDown={(event) => { if (event.key === "Escape") { onDone(undefined); } }} />
                <div class="bar">
                    <span class="spring" />
                    <button type="button" class="btn second" onClick={() => onDone(undefined)}>{CHAT.cancel}</button>
                    <button type="submit" class="btn" disabled={value.trim() === ""}>{CHAT.sendInFork}</button>
                </div>
            </div>
        </form>
    );
}

function Part({ part, results }: { readonly part: MessagePart; readonly results: readonly MessagePart[] }) {
    switch (part.type) {
        case "text":
            return <Markdown text={part.text ?? ""} />;
        case "reasoning":
            return <Thinking text={part.text ?? ""} />;
        case "tool_call": {
            const result = results.find((each) => each.callId !== undefined && each.callId === part.callId);
            return <ToolLine call={{ name: part.name ?? "", arguments: part.arguments ?? "", result: result?.text, isError: result?.isError }} />;
        }
        case "tool_result": // of a call that is not in sight
            return <ToolLine call={{ name: part.name ?? "", arguments: "", result: part.text ?? "", isError: part.isError }} />;
        case "attachment":
            return <Attached icon="file-code" title={visible(part.name ?? "")} text={part.text ?? ""} />;
        default:
            return <Attached icon="note" title={visible(part.type)} text={part.text ?? ""} />;
    }
}

/** `isAsked`: whether the question is among the messages already. */
export function LiveAnswer({ live, isAsked }: { readonly live: Live; readonly isAsked: boolean }) {
    return (
        <>
            {live.question !== undefined && !isAsked && (
                <div class="row">
                    <article class="ask" tabIndex={-1} aria-label="You, just now" data-testid="question">
                        <span class="sr">{CHAT.you}: </span>
                        <Markdown text={live.question} />
                    </article>
                </div>
            )}
            <div class="row">
                <article class="answer live" tabIndex={-1} aria-label="Palimpsest is answering" aria-busy="true" data-testid="live">
                    {live.parts.map((part, index) => <LivePartRow key={index} part={part} isLast={index === live.parts.length - 1} />)}
                    {live.parts.length === 0 && <p class="working"><Icon name="loading" spin />{CHAT.waiting}</p>}
                </article>
            </div>
        </>
    );
}

function LivePartRow({ part, isLast }: { readonly part: LivePart; readonly isLast: boolean }) {
    switch (part.type) {
        case "text":
            return <GrowingMarkdown text={part.text} />;
        case "thinking":
            return <Thinking text={part.text} isRunning={isLast} />;
        case "tool":
            return <ToolLine call={{ name: part.name, arguments: part.arguments, result: part.result, isRunning: part.result === undefined }} />;
        case "error":
            return <p class="bad">{visible(part.text)}</p>;
    }
}
