/** The files that a turn changed, under its answer: shown in VS Code, and taken back, all of them or one. */
import type { FileChange } from "../protocol.gen";
import { EDITS } from "../texts";
import { Icon, IconButton } from "./page_head";
import { useEnds } from "./post";
import { visible } from "./visible";

interface File {
    readonly path: string;
    readonly added: number;
    readonly removed: number;
    readonly isTakenBack: boolean;
    /** Why its edits cannot be taken back. */
    readonly reason: string | undefined;
}

export function filesOf(changes: readonly FileChange[]): File[] {
    return [...new Set(changes.map((each) => each.path))].map((path) => {
        const own = changes.filter((each) => each.path === path);
        const standing = own.filter((each) => each.state !== "takenBack");
        const counted = standing.length === 0 ? own : standing;
        const sum = (of: (each: FileChange) => number) => counted.reduce((n, each) => n + of(each), 0);
        // An earlier edit of lines that a later one changed goes with that one.
        const isStuck = standing.length > 0 && standing.every((each) => !each.canTakeBack);
        return { path, added: sum((each) => each.added), removed: sum((each) => each.removed), isTakenBack: standing.length === 0, reason: isStuck ? standing.at(-1)?.reason : undefined };
    });
}

/** `retry`: the turn, where it can be asked again. */
export function TurnChanges({ turnId, changes, retry }: { readonly turnId: string; readonly changes: readonly FileChange[]; readonly retry: string | undefined }) {
    const { post } = useEnds();
    const files = filesOf(changes);
    const standing = files.filter((each) => !each.isTakenBack);
    const review = (path?: string) => post({ type: "reviewChanges", turnId, ...(path === undefined ? {} : { path }) });
    const undo = (path?: string) => post({ type: "undoChanges", turnId, ...(path === undefined ? {} : { path }) });
    if (files.length === 0) {
        return null;
    }
    return (
        <section class="turn-changes" aria-label={EDITS.name} data-testid={`changes-${turnId}`}>
            <details class="tool">
                <summary>
                    <Icon name="diff-multiple" />
                    <span class="verb">{standing.length === 0 ? EDITS.takenBack(files.length) : EDITS.changed(standing.length)}</span>
                    <Figures files={standing.length === 0 ? files : standing} />
                    <Icon name="chevron-right turn-arrow" />
                </summary>
                <ul class="inside">
                    {files.map((each) => (
                        <li key={each.path}>
                            <span class="file">{visible(each.path)}</span>
                            {each.isTakenBack ? <span class="state">{EDITS.isTakenBack}</span> : <Figures files={[each]} />}
                            <span class="spring" />
                            <IconButton icon="diff" name={EDITS.reviewFile(each.path)} onClick={() => review(each.path)} />
                            {!each.isTakenBack && each.reason === undefined && <IconButton icon="discard" name={EDITS.undoFile(each.path)} onClick={() => undo(each.path)} />}
                            {each.reason !== undefined && <p class="reason">{visible(each.reason)}</p>}
                        </li>
                    ))}
                </ul>
            </details>
            <div class="acts" role="toolbar" aria-label={EDITS.name}>
                <button type="button" class="text-btn" onClick={() => review()}>{EDITS.review}</button>
                {standing.length > 0 && <button type="button" class="text-btn" onClick={() => undo()}>{EDITS.undo}</button>}
                {standing.length > 0 && retry === turnId && <button type="button" class="text-btn" onClick={() => post({ type: "retry", turnId, takeBackChanges: true })}>{EDITS.undoAndRetry}</button>}
            </div>
        </section>
    );
}

function Figures({ files }: { readonly files: readonly File[] }) {
    const sum = (of: (each: File) => number) => files.reduce((n, each) => n + of(each), 0);
    return <span class="figures"><span class="add-n">+{sum((each) => each.added)}</span> <span class="del-n">−{sum((each) => each.removed)}</span></span>;
}
