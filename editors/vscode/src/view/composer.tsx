/** Where a message is written: completion of mentions and commands, attachments as chips, send and stop. */
import { memo } from "preact/compat";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import type { MentionItem } from "../protocol.gen";
import { useEnds } from "./post";
import type { State } from "./state";
import { visible } from "./visible";

const DRAFT_DELAY_MS = 500;

/** What is typed, while the composer is not shown as well. */
export interface Typed {
    text: string;
    /** The draft of the host that it came from, or came behind; see `State.draft`. */
    n: number;
}

interface Props {
    readonly state: State;
    readonly typed: Typed;
}

/** Drawn again for what it shows alone: not for each word of an answer. */
export const Composer = memo(ComposerForm, ({ state: a }: Props, { state: b }: Props) =>
    a.draft === b.draft && a.completion === b.completion && a.chips === b.chips && a.focus === b.focus && a.server === b.server && a.usage === b.usage && a.conversation === b.conversation && (a.live === undefined) === (b.live === undefined));

function ComposerForm({ state, typed }: Props) {
    const { post, dispatch } = useEnds();
    const field = useRef<HTMLTextAreaElement>(null);
    const seq = useRef(0);
    const saving = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
    const [text, setText] = useState(typed.text);
    const [picked, setPicked] = useState(0);
    const items = state.completion.seq === seq.current ? state.completion.items : [];
    const isWritten = state.conversation?.shared?.writer !== undefined;
    const isRunning = state.live !== undefined && !isWritten;
    const isReady = state.server.phase === "ready";

    useEffect(() => {
        if (typed.n !== state.draft.n) {
            // What was typed before anything was open stays, behind the draft that was kept.
            const isFirst = typed.n === 0 && typed.text !== "";
            typed.n = state.draft.n;
            if (isFirst) {
                const both = [state.draft.text, typed.text].filter((each) => each !== "").join("\n");
                setText(both);
                keep(both);
            } else {
                flush.current(); // What was typed a moment ago belongs to what was open.
                setText(state.draft.text);
            }
        }
    }, [state.draft.n]);
    typed.text = text;
    useLayoutEffect(() => {
        grow(field.current);
    }, [text]);
    useEffect(() => {
        if (state.focus > 0) {
            field.current?.focus();
        }
    }, [state.focus]);
    useEffect(() => {
        setPicked(0);
    }, [state.completion]);

    const conversationId = state.conversation?.conversationId;
    /** Sends the draft that waits to be kept. */
    const flush = useRef<() => void>(() => undefined);
    const keep = (draft: string) => {
        clearTimeout(saving.current);
        flush.current = () => {
            clearTimeout(saving.current);
            flush.current = () => undefined;
            post({ type: "draft", text: draft, ...(conversationId === undefined ? {} : { conversationId }) });
        };
        saving.current = setTimeout(() => {
            flush.current();
        }, DRAFT_DELAY_MS);
    };
    const change = (value: string, position: number) => {
        setText(value);
        keep(value);
        if (/(^\/|(^|\s)@)\S*$/.test(value.slice(0, position))) {
            seq.current += 1;
            post({ type: "complete", seq: seq.current, text: value, position });
        } else if (items.length > 0) {
            dispatch({ type: "closeCompletion" });
        }
    };
    const accept = (item: MentionItem) => {
        const position = field.current?.selectionStart ?? text.length;
        const value = text.slice(0, state.completion.start) + item.insertText + text.slice(position);
        const after = state.completion.start + item.insertText.length;
        if (item.kind === "file" && item.path !== undefined) {
            post({ type: "attachPath", path: item.path });
        }
        dispatch({ type: "closeCompletion" });
        setText(value);
        keep(value);
        requestAnimationFrame(() => {
            field.current?.setSelectionRange(after, after);
            if (item.kind === "folder") {
                change(value, after);
            }
        });
    };
    /** A command that stands there whole is sent by Enter. */
    const isTyped = (item: MentionItem) => item.kind === "command" && item.insertText.trim() === text.trim();
    const isCommand = text.startsWith("/");
    const send = () => {
        if (text.trim() !== "" && isReady && !isRunning) {
            clearTimeout(saving.current);
            flush.current = () => undefined;
            seq.current += 1; // Completions of what is sent may still be on their way.
            post(isWritten && !isCommand ? { type: "forkAndGoOn", text } : { type: "send", text });
            setText("");
            dispatch({ type: "closeCompletion" });
        }
    };
    const onKeyDown = (event: KeyboardEvent) => {
        if (event.isComposing) {
            return;
        }
        const item = items[picked];
        if (item !== undefined && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
            event.preventDefault();
            setPicked((picked + (event.key === "ArrowDown" ? 1 : items.length - 1)) % items.length);
        } else if (item !== undefined && (event.key === "Tab" || (event.key === "Enter" && !isTyped(item))) && !event.shiftKey) {
            event.preventDefault();
            accept(item);
        } else if (event.key === "Escape" && items.length > 0) {
            event.preventDefault();
            dispatch({ type: "closeCompletion" });
        } else if (event.key === "Escape" && isRunning) {
            event.preventDefault();
            post({ type: "stop" });
        } else if (event.key === "Enter" && !event.shiftKey) {
            event.preventDefault();
            send();
        }
    };

    const tokens = state.chips.reduce((sum, chip) => sum + chip.tokens, 0);
    return (
        <form class="composer" onSubmit={(event) => { event.preventDefault(); send(); }}>
            {items.length > 0 && (
                <ul class="completions" id="completions" role="listbox" aria-label="Completions">
                    {items.map((item, index) => (
                        <li key={`${item.kind}${item.insertText}`} id={`completion-${index}`} role="option" aria-selected={index === picked} onMouseDown={(event) => { event.preventDefault(); accept(item); }}>
                            <span>{visible(item.label)}</span> <span class="detail">{visible(item.detail)}</span>
                        </li>
                    ))}
                </ul>
            )}
            {state.chips.length > 0 && (
                <ul class="chips" aria-label={`Attachments, ${tokens} tokens together`} data-testid="chips">
                    {state.chips.map((chip) => (
                        <li key={chip.id} class={chip.problem === undefined ? "chip" : "chip problem"} title={chip.problem}>
                            <span>{visible(chip.label)}</span> <span class="detail">{chip.problem === undefined ? `${chip.tokens.toLocaleString("en")} tokens` : visible(chip.problem)}</span>
                            <button type="button" class="small" aria-label={`Remove ${visible(chip.label)}`} onClick={() => post({ type: "detach", id: chip.id })}>×</button>
                        </li>
                    ))}
                </ul>
            )}
            <textarea
                ref={field}
                class="message-field"
                rows={2}
                value={text}
                placeholder="Message (@ attaches, / commands)"
                aria-label="Message"
                aria-autocomplete="list"
                aria-haspopup="listbox"
                aria-controls={items.length > 0 ? "completions" : undefined}
                aria-activedescendant={items.length > 0 ? `completion-${picked}` : undefined}
                data-testid="composer"
                onInput={(event) => change(event.currentTarget.value, event.currentTarget.selectionStart)}
                onKeyDown={onKeyDown}
                onBlur={() => { flush.current(); }}
            />
            <div class="composer-buttons">
                <button type="button" class="secondary" onClick={() => post({ type: "attachSelection" })} data-testid="attach-selection">Attach selection</button>
                <button type="button" class="secondary" onClick={() => post({ type: "pickModel" })} aria-label={`Model: ${state.usage?.model ?? state.conversation?.model ?? "default"}. Choose another`} data-testid="model">{state.usage?.model ?? state.conversation?.model ?? "Model"}</button>
                <span class="spring" />
                {isRunning ? (
                    <button type="button" onClick={() => post({ type: "stop" })} data-testid="stop">Stop</button>
                ) : (
                    <button type="submit" disabled={!isReady || text.trim() === ""} data-testid="send">{isWritten && !isCommand ? "Go on in a fork" : "Send"}</button>
                )}
            </div>
        </form>
    );
}

const MOST_ROWS_PX = 240;

/** Where the style sheet cannot do it. Measuring lays out the page, which each key press would pay for. */
const GROWS_BY_ITSELF = typeof CSS !== "undefined" && CSS.supports("field-sizing", "content");

function grow(field: HTMLTextAreaElement | null): void {
    if (field !== null && !GROWS_BY_ITSELF) {
        field.style.height = "auto";
        field.style.height = `${Math.min(MOST_ROWS_PX, field.scrollHeight + 2)}px`;
    }
}
