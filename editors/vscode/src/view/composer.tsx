/** Where a message is written: completion of mentions and commands, attachments as chips, send and stop. */
import { memo } from "preact/compat";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import type { MentionItem } from "../protocol.gen";
import { COMPOSER, SAID } from "../texts";
import { Chips } from "./chips";
import { short } from "./figures";
import { isRichText, receive } from "./given";
import { MenuButton } from "./menu";
import { Icon } from "./page_head";
import { useEnds } from "./post";
import type { State } from "./state";
import { visible } from "./visible";
import { Ring } from "./window_bar";

const ICONS: Readonly<Record<string, string>> = { file: "file-code", folder: "folder", command: "terminal", resource: "database" };
/** Icons of commands, by their names. */
const COMMAND_ICONS: Readonly<Record<string, string>> = { new: "add", summarize: "fold", context: "graph", usage: "pie-chart", undo: "discard", search: "search", facts: "bookmark", pin: "pin", rules: "law", withdraw: "close", model: "chip", stats: "graph-line", layout: "layout", recover: "debug-disconnect", export: "export", help: "question", share: "broadcast" };
/** How long "Draft saved" is seen. */
const SAVED_MS = 2_000;
const DRAFT_DELAY_MS = 500;
/** The model of those who have set none up: it quotes. */
const OFFLINE = "offline";

/** What is typed, while the composer is not shown as well. */
export interface Typed {
    text: string;
    /** The draft of the host that it came from, or came behind; see `State.draft`. */
    n: number;
    /** What is said when the answer that runs has ended. Its conversation is not known before the first message of one. */
    queued?: { readonly text: string; readonly conversationId: string | undefined } | undefined;
}

interface Props {
    readonly state: State;
    readonly typed: Typed;
    /** Whether files hover over the panel. */
    readonly isOver: boolean;
}

/** Drawn again for what it shows alone: not for each word of an answer. */
export const Composer = memo(ComposerForm, ({ state: a, isOver: wasOver }: Props, { state: b, isOver }: Props) =>
    wasOver === isOver && a.reading === b.reading && a.around === b.around && a.draft === b.draft && a.completion === b.completion && a.chips === b.chips && a.focus === b.focus && a.server === b.server && a.usage === b.usage && a.costs === b.costs && a.conversation === b.conversation && a.hasModel === b.hasModel && (a.live === undefined) === (b.live === undefined) && a.total === b.total && a.ended === b.ended && a.failure === b.failure);

function ComposerForm({ state, typed, isOver }: Props) {
    const ends = useEnds();
    const { post, dispatch } = ends;
    const field = useRef<HTMLTextAreaElement>(null);
    const seq = useRef(0);
    const saving = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
    const [text, setText] = useState(typed.text);
    const [picked, setPicked] = useState(0);
    const [queued, setQueuedHere] = useState(typed.queued);
    const setQueued = (value: Typed["queued"]) => {
        typed.queued = value;
        setQueuedHere(value);
    };
    const items = state.completion.seq === seq.current ? state.completion.items : [];
    const isWritten = state.conversation?.shared?.writer !== undefined;
    const isRunning = state.live !== undefined && !isWritten;
    const isReady = state.server.phase === "ready";

    useEffect(() => {
        if (typed.n !== state.draft.n) {
            // What was typed before anything was open stays, behind the draft that was kept.
            const isFirst = typed.n === 0 && typed.text !== "";
            typed.n = state.draft.n;
            if (state.draft.isBehind) {
                const both = [typed.text.trimEnd(), state.draft.text].filter((each) => each !== "").join("\n\n");
                setText(both);
                keep(both);
            } else if (isFirst) {
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
        takeFocus(field.current);
    }, [state.conversation?.conversationId, isRunning]);
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
            // What waits is kept as a draft, too: the window may be closed before it is said.
            const waits = typed.queued?.conversationId === conversationId ? typed.queued?.text : undefined;
            const all = [waits ?? "", draft].filter((each) => each !== "").join("\n\n");
            post({ type: "draft", text: all, ...(conversationId === undefined ? {} : { conversationId }) });
            if (all !== "") {
                tellSaved();
            }
        };
        saving.current = setTimeout(() => {
            flush.current();
        }, DRAFT_DELAY_MS);
    };
    const [isSaved, setSaved] = useState(false);
    const showing = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
    const tellSaved = () => {
        clearTimeout(showing.current);
        setSaved(true);
        showing.current = setTimeout(() => setSaved(false), SAVED_MS);
    };
    useEffect(() => () => clearTimeout(showing.current), []);
    /** Enter was pressed while a picture was still read: the message waits for it. */
    const waits = useRef(false);
    const change = (value: string, position: number) => {
        waits.current = false;
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
    const isNarrow = useNarrow();
    const isCommand = text.startsWith("/");
    const lastAsked = lastOf(state);
    /** A picture says something by itself. */
    const isSomething = text.trim() !== "" || state.chips.some((each) => each.thumbnail !== undefined);
    const send = () => {
        if (state.reading > 0 && !isRunning && !isCommand) {
            waits.current = true;
        } else if (text.trim() !== "" && isReady && isRunning && !isCommand) {
            setQueued({ text: queued === undefined ? text : `${queued.text}\n\n${text}`, conversationId });
            setText("");
            keep("");
        } else if (isSomething && isReady && !isRunning) {
            clearTimeout(saving.current);
            flush.current = () => undefined;
            seq.current += 1; // Completions of what is sent may still be on their way.
            post(isWritten && !isCommand ? { type: "forkAndGoOn", text } : { type: "send", text });
            setText("");
            dispatch({ type: "closeCompletion" });
        }
    };
    useEffect(() => {
        if (waits.current && state.reading === 0 && isSomething) {
            waits.current = false;
            send();
        }
    }, [state.reading, state.chips]);
    useEffect(() => {
        waits.current = false;
    }, [conversationId]);
    // What was typed during an answer is said when it has ended; an answer that was stopped or failed gives it back.
    useEffect(() => {
        if (queued === undefined) {
            return;
        }
        if (isRunning && queued.conversationId === undefined) {
            setQueued({ ...queued, conversationId }); // the conversation that begins with the message before it
            return;
        }
        if (isRunning && queued.conversationId === conversationId) {
            return;
        }
        flush.current(); // in another conversation it stays the draft of its own
        setQueued(undefined);
        if (queued.conversationId !== undefined && queued.conversationId !== conversationId) {
            return;
        }
        if (state.failure === undefined && state.ended?.status === "committed") {
            post({ type: "send", text: queued.text });
        } else {
            const both = [queued.text, text].filter((each) => each !== "").join("\n\n");
            setText(both);
            keep(both);
        }
    }, [isRunning, conversationId]);
    /** Begins a mention where one types. */
    const mention = () => {
        const at = field.current?.selectionStart ?? text.length;
        const before = text.slice(0, at);
        const value = `${before}${before === "" || /\s$/.test(before) ? "" : " "}@`;
        field.current?.focus();
        change(`${value}${text.slice(at)}`, value.length);
    };
    const onKeyDown = (event: KeyboardEvent) => {
        if (event.isComposing) {
            return;
        }
        const item = items[picked];
        if (event.key === "ArrowUp" && text === "" && lastAsked !== undefined) {
            event.preventDefault();
            setText(lastAsked);
            keep(lastAsked);
            return;
        }
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
    const offered = isRunning || state.hasModel === false ? undefined : notAttached(state);
    const isForked = isWritten && !isCommand;
    const model = state.usage?.model ?? state.conversation?.model ?? (state.hasModel === false ? OFFLINE : undefined);
    const modelName = model === OFFLINE ? COMPOSER.quotesOnly : (model ?? COMPOSER.model);
    return (
        <form class="composer" onSubmit={(event) => { event.preventDefault(); send(); }}>
            {items.length > 0 && (
                <ul class="pop menu" id="completions" role="listbox" aria-label={SAID.completions}>
                    {items.map((item, index) => (
                        <li key={`${item.kind}${item.insertText}`} id={`completion-${index}`} class={`item${index === picked ? " is-picked" : ""}`} role="option" aria-selected={index === picked} onMouseDown={(event) => { event.preventDefault(); accept(item); }}>
                            <Icon name={(item.kind === "command" ? COMMAND_ICONS[item.insertText.trim().slice(1)] : undefined) ?? ICONS[item.kind] ?? "symbol-misc"} /><span class="ellipsis">{matched(visible(item.label), text.slice(state.completion.start, field.current?.selectionStart ?? text.length))}</span><span class="d">{visible(item.detail)}</span>
                        </li>
                    ))}
                </ul>
            )}
            <div class="box">
                <Chips chips={state.chips} tokens={tokens} offered={offered} />
                <textarea
                    ref={field}
                    class="message-field"
                    rows={1}
                    value={text}
                    placeholder={isNarrow ? COMPOSER.narrowPlaceholder : COMPOSER.placeholder}
                    aria-label={COMPOSER.message}
                    aria-autocomplete="list"
                    aria-haspopup="listbox"
                    aria-controls={items.length > 0 ? "completions" : undefined}
                    aria-activedescendant={items.length > 0 ? `completion-${picked}` : undefined}
                    data-testid="composer"
                    onInput={(event) => change(event.currentTarget.value, event.currentTarget.selectionStart)}
                    onKeyDown={onKeyDown}
                    onPaste={(event) => { if (!isRichText(event.clipboardData) && receive(event.clipboardData, ends)) { event.preventDefault(); } }}
                    onBlur={() => { flush.current(); }}
                />
                <div class="bar">
                    <MenuButton icon="add" name={COMPOSER.addContext} testId="add-context" choices={[
                        { label: COMPOSER.addFile, icon: "mention", onPick: mention },
                        { label: COMPOSER.addSelection, icon: "selection", onPick: () => post({ type: "attachSelection" }) },
                    ]} />
                    <button type="button" class="pick" onClick={() => post({ type: "pickModel" })} title={COMPOSER.modelIs(modelName)} aria-label={COMPOSER.modelIs(modelName)} data-testid="model">{model === OFFLINE && <i class="codicon codicon-debug-disconnect lead" aria-hidden="true" />}<span class="ellipsis">{modelName}</span><Icon name="chevron-down" /></button>
                    <span class="spring" />
                    {state.usage !== undefined && <Ring usage={state.usage} costs={state.costs} />}
                    {isRunning ? (
                        <button type="button" class="send stop" title={COMPOSER.stop} aria-label={COMPOSER.stop} onClick={() => post({ type: "stop" })} data-testid="stop"><Icon name="debug-stop" /></button>
                    ) : (
                        <button type="submit" class={isForked ? "btn" : "send"} disabled={!isReady || !isSomething} title={isForked ? COMPOSER.goOnInFork : COMPOSER.send} aria-label={isForked ? COMPOSER.goOnInFork : COMPOSER.send} data-testid="send">{isForked ? COMPOSER.goOnInFork : <Icon name="arrow-up" />}</button>
                    )}
                </div>
            </div>
            <div class="under">
                {queued !== undefined ? <span class="ellipsis" role="status" data-testid="queued">{COMPOSER.queued}: {visible(queued.text)}</span> : tokens > 0 ? <span>{COMPOSER.adds(short(tokens))}</span> : <span class="hint">{isRunning ? COMPOSER.escStops : COMPOSER.hint}</span>}
                <span class="spring" />
                {isSaved && <span role="status" class="saved"><Icon name="check" /> {COMPOSER.draftSaved}</span>}
            </div>
            {isOver && <div class="drop" aria-hidden="true"><Icon name="add" /><strong>{COMPOSER.dropToAdd}</strong><span class="muted">{COMPOSER.whatToDrop}</span></div>}
        </form>
    );
}

/** The path of the open file, as long as it does not go with the message. */
function notAttached({ around: { file }, chips }: State): string | undefined {
    return chips.some((each) => each.label === file) ? undefined : file;
}

/** Whether the panel is too narrow for the line of hints, as the style sheet has it. */
function useNarrow(): boolean {
    const query = useMemo(() => (typeof matchMedia === "function" ? matchMedia("(max-width: 319px)") : undefined), []);
    const [isNarrow, setNarrow] = useState(query?.matches === true);
    useEffect(() => {
        const look = () => setNarrow(query?.matches === true);
        query?.addEventListener("change", look);
        return () => query?.removeEventListener("change", look);
    }, []);
    return isNarrow;
}

/** The label with what was typed of it. */
function matched(label: string, typed: string) {
    const wanted = typed.replace(/^[@/]/, "");
    const at = wanted === "" ? -1 : label.toLowerCase().indexOf(wanted.toLowerCase());
    return at === -1 ? label : <>{label.slice(0, at)}<b>{label.slice(at, at + wanted.length)}</b>{label.slice(at + wanted.length)}</>;
}

/** What the user said last, to be changed and said again. */
function lastOf(state: State): string | undefined {
    for (let id = state.total - 1; id >= Math.max(0, state.total - 20); id--) {
        const message = state.messages.get(id);
        if (message?.role === "user" && message.author === undefined && !message.isHidden && message.isPurged !== true) {
            return message.text;
        }
    }
    return undefined;
}

/** The keyboard goes to the message field when a person is in the panel, and not while something else is typed or a question waits. */
function takeFocus(field: HTMLTextAreaElement | null): void {
    const active = document.activeElement;
    const isBusy = active instanceof HTMLInputElement || active instanceof HTMLTextAreaElement || active?.closest(".decide") != null;
    if (field !== null && document.hasFocus() && !isBusy) {
        field.focus();
    }
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
