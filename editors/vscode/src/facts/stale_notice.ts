/** A notification of facts that grow stale in files that no editor shows, such as after a pull. Each fact is told once. */
import * as vscode from "vscode";

import { asWords } from "../native/words";
import { TOASTS } from "../texts";
import type { ServerPort } from "../port";
import { FactsListRequest, type FactInfo, type FactsChangedParams } from "../protocol.gen";
import { byFile } from "./grouping";

/** PROTOCOL.md, `ListFactsParams.limit`. */
const MOST = 1_000;

export class StaleNotice {
    /** The stale facts of each folder that need not be told; those of the first look were there before. */
    private readonly known = new Map<string, Set<number>>();

    /** `review`: shows the facts. */
    constructor(
        private readonly server: ServerPort,
        private readonly isPanelVisible: () => boolean,
        private readonly review: () => Promise<void>,
    ) {}

    async factsChanged({ folderUri }: FactsChangedParams): Promise<void> {
        const { facts } = await this.server.request(FactsListRequest, { folderUri, limit: MOST });
        const stale = facts.filter((each) => each.isStale);
        const known = this.known.get(folderUri);
        this.known.set(folderUri, new Set(stale.map((each) => each.id)));
        if (known === undefined || this.isPanelVisible()) {
            return;
        }
        const shown = new Set(vscode.window.visibleTextEditors.map((each) => each.document.uri.toString()));
        const isNews = (fact: FactInfo) => !known.has(fact.id) && !fact.sources.some((each) => shown.has(each.uri));
        const [first] = byFile(stale.filter(isNews));
        if (first !== undefined && (await vscode.window.showInformationMessage(asWords(TOASTS.stale(first.facts.length, first.title)), TOASTS.review, TOASTS.notNow)) === TOASTS.review) {
            await this.review();
        }
    }
}
