/** One fact: its state, where it holds, and opened: the lines then and now, the words it rests on, and what can be done. */
import { Fragment } from "preact";
import { useState } from "preact/hooks";

import type { FactInfo, FactSource } from "../protocol.gen";
import { FACTS, SAID } from "../texts";
import { differing, placeOf, STATES, whereOf, type Condition } from "./fact_groups";
import { day, dayInWords } from "./figures";
import { useContextMenu } from "./menu";
import { Icon, IconButton } from "./page_head";
import { useEnds } from "./post";
import { WithCode } from "./with_code";
import { visible } from "./visible";

interface Props {
    readonly fact: FactInfo;
    readonly condition: Condition;
    readonly folderUri: string;
}

type Action = "verify" | "update" | "forget" | "pin" | "unpin" | "ask";

export function FactRow({ fact, condition, folderUri }: Props) {
    const { post } = useEnds();
    const [isOpen, setOpen] = useState(false);
    const act = (action: Action) => post({ type: "fact", action, factId: fact.id, folderUri });
    const { icon, name } = STATES[condition];
    const isPinned = fact.factType === "pinned";
    const pin = { label: isPinned ? FACTS.unpin : FACTS.pin, icon: isPinned ? "pinned" : "pin", onPick: () => act(isPinned ? "unpin" : "pin") };
    const onContextMenu = useContextMenu(visible(fact.content).slice(0, 40), () => [
        fact.isStale && { label: FACTS.update, icon: "sync", onPick: () => act("update") },
        fact.isStale && { label: FACTS.markStillTrue, icon: "check", onPick: () => act("verify") },
        pin,
        { label: FACTS.ask, icon: "comment-discussion", onPick: () => act("ask") },
        { label: FACTS.forgetFact, icon: "trash", beginsGroup: true, onPick: () => act("forget") },
    ]);
    return (
        <li class={`fact ${condition}${isOpen ? " is-open" : ""}`} onContextMenu={onContextMenu} data-testid="fact">
            <Icon name={icon} />
            <div>
                <button type="button" class="text" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}><span class="sr">{name}: </span><WithCode text={fact.content} /></button>
                <Where fact={fact} condition={condition} />
            </div>
            {!isOpen && (
                <div class="acts" role="toolbar" aria-label={FACTS.aboutThis(visible(fact.content).slice(0, 40))}>
                    {fact.isStale && <IconButton icon="check" name={FACTS.markStillTrue} onClick={() => act("verify")} />}
                    {fact.isStale && <IconButton icon="sync" name={FACTS.update} onClick={() => act("update")} />}
                    {!fact.isStale && <IconButton icon={pin.icon} name={pin.label} onClick={pin.onPick} />}
                    <IconButton icon="comment-discussion" name={FACTS.ask} onClick={() => act("ask")} />
                    <IconButton icon="trash" name={FACTS.forgetFact} onClick={() => act("forget")} />
                </div>
            )}
            {isOpen && (
                <div class="more">
                    <ThenAndNow sources={fact.sources} />
                    <RestsOn fact={fact} />
                    <div class="do">
                        {fact.isStale ? (
                            <>
                                <button type="button" class="btn" onClick={() => act("update")}><Icon name="sync" />{FACTS.update}</button>
                                <button type="button" class="btn second" onClick={() => act("verify")}><Icon name="check" />{FACTS.stillTrue}</button>
                            </>
                        ) : (
                            <>
                                <button type="button" class="btn second" onClick={pin.onPick}><Icon name={pin.icon} />{pin.label}</button>
                                <button type="button" class="btn second" onClick={() => act("ask")}><Icon name="comment-discussion" />{FACTS.ask}</button>
                            </>
                        )}
                        <button type="button" class="text-btn" onClick={() => act("forget")}>{FACTS.forget}</button>
                    </div>
                </div>
            )}
        </li>
    );
}

function Where({ fact, condition }: { readonly fact: FactInfo; readonly condition: Condition }) {
    const now = new Date();
    const place = placeOf(fact);
    const isStale = condition === "changed" || condition === "missing";
    return (
        <p class="where">
            {isStale && <span class="state">{STATES[condition].name}</span>}
            {place !== undefined && <span>{condition === "moved" ? FACTS.movedTo : ""}<Place source={place} /></span>}
            {fact.factType === "pinned" && <span>{FACTS.pinnedByYou}</span>}
            {fact.author !== undefined && <span>{FACTS.notedBy(visible(fact.author))}</span>}
            {place === undefined && fact.factType !== "pinned" && fact.quote !== undefined ? <span>{FACTS.said(dayInWords(new Date(fact.createdAt), now))}</span> : <span class="opt">{day(new Date(fact.createdAt), now)}</span>}
            {fact.uses > 0 && <span>{FACTS.used(fact.uses)}</span>}
            {fact.shared && <span>{FACTS.shared}</span>}
        </p>
    );
}

function Place({ source }: { readonly source: FactSource }) {
    const { post } = useEnds();
    if (source.condition === "missing") {
        const line = source.startLine === undefined ? "" : FACTS.wasLine(source.startLine + 1);
        return <>{source.symbol === undefined ? line || visible(source.path) : [visible(source.symbol), line].filter((each) => each !== "").join(", ")}</>;
    }
    const where = whereOf(source);
    const line = source.nowLine ?? source.startLine;
    return <button type="button" class="ref" title={SAID.open(`${visible(source.path)}, ${visible(where)}`)} onClick={() => post({ type: "openPlace", uri: source.uri, ...(line === undefined ? {} : { line }) })}>{visible(where)}</button>;
}

function ThenAndNow({ sources }: { readonly sources: readonly FactSource[] }) {
    const known = sources.filter((each) => each.was !== undefined || each.now !== undefined);
    if (known.length === 0) {
        return null;
    }
    return (
        <div class="diff" tabIndex={0} role="region" aria-label={FACTS.thenAndNow} data-testid="then-and-now">
            <div class="rows">
                {known.map((source, index) => {
                    const { was, now } = differing(source.was ?? "", source.now ?? "");
                    const number = (line: number | undefined) => (line === undefined ? "" : line + 1);
                    return (
                        <Fragment key={index}>
                            {source.was !== undefined && <Line sign="del" number={number(source.startLine)} pieces={source.now === undefined ? [source.was, "", ""] : was} />}
                            {source.now !== undefined && <Line sign="add" number={number(source.nowLine)} pieces={source.was === undefined ? [source.now, "", ""] : now} />}
                        </Fragment>
                    );
                })}
            </div>
        </div>
    );
}

function Line({ sign, number, pieces }: { readonly sign: "add" | "del"; readonly number: number | ""; readonly pieces: readonly [string, string, string] }) {
    const [before, differs, after] = pieces;
    return (
        <div class={`r ${sign}`}>
            <span>{number}</span>
            <span>{sign === "add" ? "+" : "−"}<span class="sr"> {sign === "add" ? SAID.now : SAID.then}: </span></span>
            <code>{visible(before)}{differs !== "" && <mark>{visible(differs)}</mark>}{visible(after)}</code>
        </div>
    );
}

/** The words that it rests on, and the way to the message. */
function RestsOn({ fact }: { readonly fact: FactInfo }) {
    const { post } = useEnds();
    const { quote, conversationId, messageId } = fact;
    if (quote === undefined) {
        return null;
    }
    return (
        <p class="quote">
            {FACTS.said(dayInWords(new Date(fact.createdAt), new Date()))}: “{visible(quote)}”
            {conversationId !== undefined && messageId !== undefined && <> <button type="button" class="text-btn" onClick={() => post({ type: "open", conversationId, messageId })}>{FACTS.showInChat}</button></>}
        </p>
    );
}

/** In the place of a fact that was forgotten just now. */
export function Forgotten({ fact, folderUri }: { readonly fact: FactInfo; readonly folderUri: string }) {
    const { post } = useEnds();
    return (
        <p class="forgotten" role="status">
            <span class="ellipsis">{FACTS.forgotten} {visible(fact.content)}</span>
            <button type="button" class="text-btn" onClick={() => post({ type: "fact", action: "restore", factId: fact.id, folderUri })}>{FACTS.undo}</button>
        </p>
    );
}
