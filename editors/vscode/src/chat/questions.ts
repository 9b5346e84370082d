/** Questions of tools that wait in the panel. The first answer counts, and one that is settled elsewhere goes away. */
import type { FromHost } from "../messages";
import type { ApprovalAnswer, ApprovalRequestParams } from "../protocol.gen";

export class Questions {
    private readonly waiting = new Map<string, { readonly request: ApprovalRequestParams; readonly end: (answer: ApprovalAnswer) => void }>();
    private counter = 0;

    constructor(private readonly tell: (message: FromHost) => void) {}

    /** `withdrawn` resolves when somebody else has answered. */
    ask(request: ApprovalRequestParams, withdrawn: Promise<void>): Promise<ApprovalAnswer> {
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

    answer(id: string, answer: ApprovalAnswer): void {
        this.waiting.get(id)?.end(answer);
    }

    /** All of them, for a panel that was not there when they were asked. */
    show(): void {
        for (const [id, { request }] of this.waiting) {
            this.tell({ type: "approval", id, request });
        }
    }
}
