/** The causes of compactions, in words for people. */
const CAUSES: Readonly<Record<string, string>> = {
    threshold: "the context was too full",
    model: "another model was chosen",
    user: "you asked for it",
    rollback: "messages were hidden or purged",
    frame: "instructions or tools changed",
    layout: "the layout is made for each turn",
    undo: "you undid a change",
    redo: "you redid a change",
};

/** As it stands behind "because". */
export function describeCause(cause: string): string {
    return CAUSES[cause] ?? cause;
}
