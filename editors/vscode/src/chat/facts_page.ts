/** What the facts page is told, and what is done about a fact from there. */
import { ExecuteCommandRequest } from "vscode-languageserver-protocol";

import type { FromHost, FromView } from "../messages";
import { isUnknownMethod, type ServerPort } from "../port";
import * as p from "../protocol.gen";
import { FACTS } from "../texts";
import type { Desk } from "./desk";

/** PROTOCOL.md, `ListFactsParams.limit`. */
const MOST = 1_000;

type Act = Extract<FromView, { type: "fact" }>;
type Message = Extract<FromView, { type: "listFacts" | "addFact" | "openPlace" | "fact" }>;

export class FactsPage {
    /** Whether a page shows them, and wants to know of changes. */
    private isShown = false;

    constructor(
        private readonly server: ServerPort,
        private readonly desk: Desk,
        private readonly tell: (message: FromHost) => void,
    ) {}

    /** The conversation to open with its draft, for a question about a fact. */
    async handle(message: Message): Promise<string | undefined> {
        switch (message.type) {
            case "listFacts":
                await this.read();
                return undefined;
            case "addFact":
                await this.desk.addFact();
                return undefined;
            case "openPlace":
                await this.desk.openPlace(message.uri, message.line);
                return undefined;
            case "fact":
                return this.act(message);
        }
    }

    private async read(): Promise<void> {
        this.isShown = true;
        const folders = [];
        for (const { uri, name } of this.desk.folders()) {
            const { facts } = await this.server.request(p.FactsListRequest, { folderUri: uri, limit: MOST });
            folders.push({ uri, name, facts });
        }
        this.tell({ type: "facts", folders });
    }

    /** Facts, or the places they rest on, have changed. */
    async changed(params: p.FactsChangedParams): Promise<void> {
        this.tell({ type: "factCounts", folderUri: params.folderUri, open: params.open, stale: params.stale });
        if (this.isShown) {
            await this.read();
        }
    }

    /** The counts that a panel shows before anything changes. */
    async count(): Promise<void> {
        try {
            for (const { uri } of this.desk.folders()) {
                const { open, stale } = await this.server.request(p.FactsListRequest, { folderUri: uri, limit: 1 });
                this.tell({ type: "factCounts", folderUri: uri, open, stale });
            }
        } catch (error) {
            if (!isUnknownMethod(error)) {
                throw error;
            }
        }
    }

    private async act({ action, factId, folderUri }: Act): Promise<string | undefined> {
        const params = { factId, folderUri };
        switch (action) {
            case "verify":
                await this.server.request(p.FactsVerifyRequest, params);
                break;
            case "update":
                await this.server.request(p.FactsUpdateRequest, params);
                break;
            case "restore":
                await this.server.request(p.FactsRestoreRequest, params);
                this.tell({ type: "forgotten", factId, folderUri, isForgotten: false });
                break;
            case "pin":
                await this.command("palimpsest.fact.pin", params);
                break;
            case "unpin":
                await this.command("palimpsest.fact.unpin", params);
                break;
            case "forget":
                if (!(await this.forget(params))) {
                    return undefined;
                }
                break;
            case "ask": {
                const asked = await this.command("palimpsest.fact.ask", params);
                return typeof asked === "object" && asked !== null && "conversationId" in asked && typeof asked.conversationId === "string" ? asked.conversationId : undefined;
            }
        }
        await this.read();
        return undefined;
    }

    /** It can be restored for 30 days, so only what a team forgets for good is asked. */
    private async forget(params: { factId: number; folderUri: string }): Promise<boolean> {
        const { facts } = await this.server.request(p.FactsListRequest, { folderUri: params.folderUri, limit: MOST });
        const fact = facts.find((each) => each.id === params.factId);
        if (fact?.shared === true && !(await this.desk.confirm(FACTS.forgetShared(fact.content), FACTS.forget))) {
            return false;
        }
        await this.server.request(p.FactsForgetRequest, params);
        this.tell({ type: "forgotten", ...params, isForgotten: true });
        return true;
    }

    private command(command: string, params: { factId: number; folderUri: string }): Promise<unknown> {
        return this.server.request(ExecuteCommandRequest.type, { command, arguments: [params] });
    }
}
