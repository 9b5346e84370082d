/** The facts of the open folders, by file, with what became of the lines that they rest on. */
import { useState } from "preact/hooks";

import type { FactInfo } from "../protocol.gen";
import { FACTS, HISTORY, SAID } from "../texts";
import { FactRow, Forgotten } from "./fact_row";
import { conditionOf, groupsOf, matches, type FileGroup } from "./fact_groups";
import type { FactFolder } from "./memory";
import { Icon, IconButton, PageHead } from "./page_head";
import { useEnds } from "./post";
import { moveAmong } from "./roving";
import type { State } from "./state";
import { visible } from "./visible";

type Filter = "all" | "toCheck" | "pinned";

const isShown = (filter: Filter, fact: FactInfo): boolean => filter === "all" || (filter === "toCheck" ? fact.isStale : fact.factType === "pinned");

export function FactsPage({ state }: { readonly state: State }) {
    const { post } = useEnds();
    const [query, setQuery] = useState("");
    const [filter, setFilter] = useState<Filter>("all");
    const folders = state.memory.facts;
    const all = (folders ?? []).flatMap((each) => each.facts);
    const counts = { all: all.length, toCheck: all.filter((each) => each.isStale).length, pinned: all.filter((each) => each.factType === "pinned").length };
    const wanted = query.trim();
    const shown = (folders ?? []).map((folder) => ({ ...folder, facts: folder.facts.filter((each) => isShown(filter, each) && (wanted === "" || matches(each, wanted))) })).filter((each) => each.facts.length > 0);
    const add = () => post({ type: "addFact" });
    return (
        <section class="page-frame" aria-label={FACTS.title} data-testid="facts">
            <PageHead title={FACTS.title}>
                <IconButton icon="pin" name={FACTS.add} onClick={add} />
                <IconButton icon="refresh" name={HISTORY.readAgain} onClick={() => post({ type: "listFacts" })} />
            </PageHead>
            <div class="page" onKeyDown={(event) => moveAmong(event, ".fact .text")}>
                {folders !== undefined && all.length === 0 && state.memory.forgotten.length === 0 ? (
                    <div class="welcome none-yet">
                        <div><h2>{FACTS.none}</h2><p class="lead">{FACTS.noneLead}</p></div>
                        <div><button type="button" class="btn second" onClick={add}><Icon name="pin" />{FACTS.add}</button></div>
                    </div>
                ) : (
                    <>
                        <label class="search-box"><Icon name="search" /><input type="search" value={query} placeholder={FACTS.search} aria-label={FACTS.search} onInput={(event) => setQuery(event.currentTarget.value)} /></label>
                        <div class="filters" role="group" aria-label={SAID.show}>
                            {(["all", "toCheck", "pinned"] as const).map((each) => (
                                <button key={each} type="button" class="filter" aria-pressed={filter === each} onClick={() => setFilter(each)}>{each === "toCheck" && <Icon name="warning" />}{FACTS[each]} {counts[each]}</button>
                            ))}
                        </div>
                        {state.memory.forgotten.map(({ fact, folderUri }) => <Forgotten key={`${folderUri} ${fact.id}`} fact={fact} folderUri={folderUri} />)}
                        {shown.map((folder) => <Folder key={folder.uri} folder={folder} isNamed={(folders ?? []).length > 1} />)}
                        {folders !== undefined && shown.length === 0 && <p class="muted">{FACTS.noMatch}</p>}
                    </>
                )}
            </div>
        </section>
    );
}

function Folder({ folder, isNamed }: { readonly folder: FactFolder; readonly isNamed: boolean }) {
    return (
        <>
            {isNamed && <h2>{visible(folder.name)}</h2>}
            {groupsOf(folder.facts).map((group) => <File key={group.path} group={group} folderUri={folder.uri} />)}
        </>
    );
}

function File({ group, folderUri }: { readonly group: FileGroup; readonly folderUri: string }) {
    const [isOpen, setOpen] = useState(true);
    const at = group.path.lastIndexOf("/");
    const name = group.path === "" ? FACTS.wholeFolder : group.path.slice(at + 1);
    return (
        <section class="fact-file" aria-label={group.path === "" ? FACTS.wholeFolder : group.path}>
            <h3>
                <button type="button" class="file-head" aria-expanded={isOpen} title={group.path} onClick={() => setOpen(!isOpen)}>
                    <Icon name={isOpen ? "chevron-down" : "chevron-right"} />
                    <span>{visible(name)}</span>
                    {at > 0 && <span class="dir ellipsis">{visible(group.path.slice(0, at))}</span>}
                    <span class="spring" />
                    {group.stale > 0 && <span class="warn">{FACTS.toCheckIn(group.stale)}</span>}
                    <span class="muted num">{group.facts.length}</span>
                </button>
            </h3>
            {isOpen && <ul class="plain">{group.facts.map((each) => <FactRow key={each.id} fact={each} condition={conditionOf(each)} folderUri={folderUri} />)}</ul>}
        </section>
    );
}
