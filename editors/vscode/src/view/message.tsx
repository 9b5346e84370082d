/** One message, and the answer that is coming. */
import { memo } from "preact/compat";
import { useState } from "preact/hooks";

import type { Live, LivePart } from "../messages";
import type { MessageInfo, MessagePart } from "../protocol.gen";
import { useEnds } from "./post";
import { GrowingMarkdown, Markdown } from "./text";
import { boundLines, visible } from "./visible";

const NAMES = { user: "You", assistant: "Palimpsest", tool: "Tool" } as const;
/** Of a tool's arguments or result. */
const SHOWN = 20_000;

export function Skeleton({ id }: { readonly id: number }) {
    return <article class="message skeleton" tabIndex={-1} aria-label={`Message ${id} is being read`} aria-busy="true" />;
}

interface RowProps {
    readonly message: MessageInfo;
    readonly total: number;
    readonly isMarked: boolean;
}

export const MessageRow = memo(function MessageRow({ message, total, isMarked }: RowProps) {
    const { post } = useEnds();
    const [edited, setEdited] = useState<string | undefined>(undefined);
    const name = message.role === "user" && message.author !== undefined ? visible(message.author) : NAMES[message.role];
    const label = `${name}, message ${message.id}`;
    if (message.isPurged === true) {
        return <p class="gone">Message {message.id} was deleted for good.</p>;
    }
    const parts = message.parts.map((part, index) => <Part key={index} part={part} />);
    return (
        <article class={`message ${message.role}${isMarked ? " marked" : ""}`} tabIndex={-1} aria-label={label} aria-posinset={message.id + 1} aria-setsize={total} data-testid={`message-${message.id}`}>
            {message.isHidden ? (
                <details>
                    <summary>{name}: hidden</summary>
                    {parts}
                </details>
            ) : (
                <>
                    {message.role !== "tool" && (
                        <header>
                            <span class="name">{name}</span>
                            {edited === undefined && (
                                <div class="tools" role="toolbar" aria-label={`Actions of ${label}`}>
                                    <button type="button" class="small" onClick={() => post({ type: "copy", text: message.text })}>Copy</button>
                                    {message.role === "user" && <button type="button" class="small" aria-label="Edit and fork" title="Edit and fork" onClick={() => setEdited(message.text)}>Edit</button>}
                                    <button type="button" class="small" aria-label="Fork from here" title="Fork from here" onClick={() => post({ type: "fork", messageId: message.id })}>Fork</button>
                                </div>
                            )}
                        </header>
                    )}
                    {edited === undefined ? parts : <Edit text={edited} onDone={(text) => { setEdited(undefined); if (text !== undefined) { post({ type: "editAndFork", messageId: message.id, text }); } }} />}
                    {message.state !== "complete" && <p class="state">{message.state === "interrupted" ? "The server ended during this message." : `This answer was ${message.state}.`}</p>}
                    {message.notes.map((note, index) => <p key={index} class="state">{visible(note)}</p>)}
                </>
            )}
        </article>
    );
});

function Edit({ text, onDone }: { readonly text: string; readonly onDone: (text: string | undefined) => void }) {
    const [value, setValue] = useState(text);
    return (
        <form class="edit" onSubmit={(event) => { event.preventDefault(); onDone(value); }}>
            <textarea aria-label="The message as it is sent in the fork" value={value} rows={4} onInput={(event) => setValue(event.currentTarget.value)} onKeyDown={(event) => { if (event.key === "Escape") { onDone(undefined); } }} />
            <button type="submit" disabled={value.trim() === ""}>Send in a fork</button>
            <button type="button" class="secondary" onClick={() => onDone(undefined)}>Cancel</button>
        </form>
    );
}

function Part({ part }: { readonly part: MessagePart }) {
    switch (part.type) {
        case "text":
            return <Markdown text={part.text ?? ""} />;
        case "reasoning":
            return <Folded class="reasoning" title="Reasoning" text={part.text ?? ""} />;
        case "tool_call":
            return <Folded class="tool-call" title={`Called ${visible(part.name ?? "a tool")}`} text={part.arguments ?? ""} />;
        case "tool_result":
            return <Folded class="tool-result" title={`${part.isError === true ? "Failed" : "Result"}: ${visible(part.name ?? "tool")}`} text={part.text ?? ""} />;
        case "attachment":
            return <Folded class="attachment" title={`Attached: ${visible(part.name ?? "")}`} text={part.text ?? ""} />;
        default:
            return <Folded class="other" title={visible(part.type)} text={part.text ?? ""} />;
    }
}

/** What is read on demand only: it is no element before it is opened. */
function Folded({ title, text, class: name }: { readonly title: string; readonly text: string; readonly class: string }) {
    const [isOpen, setOpen] = useState(false);
    const shown = isOpen ? boundLines(visible(text.slice(0, SHOWN)), 2_000) : "";
    return (
        <details class={`folded ${name}`} onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary>{title}</summary>
            {isOpen && <pre tabIndex={0}>{shown}{text.length > SHOWN ? `\n… (${(text.length - SHOWN).toLocaleString("en")} more characters)` : ""}</pre>}
        </details>
    );
}

/** `isAsked`: whether the question is among the messages already. */
export function LiveAnswer({ live, isAsked }: { readonly live: Live; readonly isAsked: boolean }) {
    return (
        <>
            {live.question !== undefined && !isAsked && (
                <article class="message user" tabIndex={-1} aria-label="You, just now" data-testid="question">
                    <header>You</header>
                    <Markdown text={live.question} />
                </article>
            )}
            <article class="message assistant live" tabIndex={-1} aria-label="Palimpsest is answering" aria-busy="true" data-testid="live">
                <header>Palimpsest</header>
                {live.parts.map((part, index) => <LivePartRow key={index} part={part} />)}
                {live.parts.length === 0 && <p class="state">Waiting for the first word…</p>}
            </article>
        </>
    );
}

function LivePartRow({ part }: { readonly part: LivePart }) {
    switch (part.type) {
        case "text":
            return <GrowingMarkdown text={part.text} />;
        case "thinking":
            return <Folded class="reasoning" title="Reasoning" text={part.text} />;
        case "tool":
            return <Folded class="tool-call" title={`${part.result !== undefined ? "Called" : part.isRunning ? "Running" : "Calling"} ${visible(part.name)}`} text={part.result === undefined ? part.arguments : `${part.arguments}\n\n${part.result}`} />;
        case "error":
            return <p class="error">{visible(part.text)}</p>;
    }
}
