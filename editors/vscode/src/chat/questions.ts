/** Questions of tools that wait in the panel. The first answer counts, and one that is settled elsewhere goes away. */
import type { FromHost } from "../messages";
import type { ApprovalAnswer, ApprovalRequestParams } from "../protocol.gen";

const EDIT = "propose_edit";

export class Questions {
    private readonly waiting = new Map<string, { readonly request: ApprovalRequestParams; readonly end: (answer: ApprovalAnswer) => void }>();
    private counter = 0;
    /** The turn whose edits are all accepted. They come one after the other, and can be taken back. */
    private acceptedTurn: string | undefined;

    constructor(private readonly tell: (message: FromHost) => void) {}

    /** `withdrawn` resolves when somebody else has answered. */
    ask(request: ApprovalRequestParams, withdrawn: Promise<void>): Promise<ApprovalAnswer> {
        if (request.tool === EDIT && request.turnId === this.acceptedTurn) {
            return Promise.resolve("once");
        }
        const id = `q${++this.counter}`;
        this.tell({ type: "approval", id, request });
        return new Promise((resolve) => {
            const end = (answer: ApprovalAnswer) => {
                if (this.waiting.delete(id)) {
                    this.tell({ type: "approvalGone", id });
                    resolve(answer);
                }
            };
            this.waiting.set(id, { request, end });
            void withdrawn.then(() => {
                end("deny");
            });
        });
    }

    /** `editsOfTurn`: this edit, and those that the same answer still brings. */
    answer(id: string, answer: ApprovalAnswer | "editsOfTurn"): void {
        const asked = this.waiting.get(id);
        if (answer !== "editsOfTurn") {
            asked?.end(answer);
        } else if (asked?.request.tool === EDIT) {
            this.acceptedTurn = asked.request.turnId;
            asked.end("once");
        }
    }

    /** The server that asked is gone: nobody hears an answer. */
    withdraw(): void {
        for (const { end } of [...this.waiting.values()]) {
            end("deny");
        }
        this.acceptedTurn = undefined;
    }

    /** All of them, for a panel that was not there when they were asked. */
    show(): void {
        for (const [id, { request }] of this.waiting) {
            this.tell({ type: "approval", id, request });
        }
    }
}
