/** The edits of files that were accepted in the open conversation: listed, shown in VS Code, and taken back. */
import type { FromHost, FromView } from "../messages";
import type { ServerPort } from "../port";
import * as p from "../protocol.gen";
import { EDITS } from "../texts";
import type { Desk } from "./desk";

export class FileChanges {
    private items: readonly p.FileChange[] = [];
    private reading = 0;

    constructor(
        private readonly server: ServerPort,
        private readonly desk: Desk,
        private readonly tell: (message: FromHost) => void,
    ) {}

    /** Of two readings the later one counts. */
    async read(conversationId: string | undefined): Promise<void> {
        const reading = ++this.reading;
        const items = conversationId === undefined ? [] : (await this.server.request(p.TurnChangesRequest, { conversationId })).changes;
        if (reading === this.reading && (items.length > 0 || this.items.length > 0)) {
            this.items = items;
            this.tell({ type: "fileChanges", items: [...items] });
        }
    }

    async handle(message: Extract<FromView, { type: "undoChanges" | "reviewChanges" }>, conversationId: string | undefined): Promise<void> {
        if (conversationId === undefined) {
            return;
        }
        await this.read(conversationId);
        const meant = this.items.filter((each) => each.turnId === message.turnId && (message.path === undefined || each.path === message.path));
        if (message.type === "reviewChanges") {
            return this.review(conversationId, meant);
        }
        const changes = meant.map((each) => each.id);
        const { files } = await this.server.request(p.TurnUndoChangesRequest, { conversationId, changes });
        this.report(files);
        await this.read(conversationId);
    }

    /** Says which files were left as they are, and why. */
    report(files: readonly p.UndoneFile[] | undefined): void {
        const left = (files ?? []).filter((each) => each.outcome === "refused" || each.outcome === "unknown");
        if (left.length > 0) {
            this.tell({ type: "notice", level: "error", text: EDITS.left(left.map((each) => `${each.path}: ${each.reason ?? ""}`)) });
        }
    }

    private async review(conversationId: string, meant: readonly p.FileChange[]): Promise<void> {
        const files = [];
        for (const path of new Set(meant.map((each) => each.path))) {
            const changes = meant.filter((each) => each.path === path);
            const texts = await this.server.request(p.TurnChangeTextsRequest, { conversationId, changes: changes.map((each) => each.id) });
            files.push({ uri: changes[0]?.uri ?? "", path, before: texts.before, after: texts.after, now: texts.now });
        }
        await this.desk.compare(files);
    }
}
