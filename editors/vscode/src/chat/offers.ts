/** What the server offers about an answer that broke off. The panel shows the same on a card. */
import type { ShowMessageRequestParams } from "vscode-languageserver-protocol";

/** PROTOCOL.md, `recovery/resolve`: what a person can choose. Other questions of the server offer other things. */
const CHOICES = new Set(["Continue", "Keep", "Discard", "Retry"]);

export function isOffer(params: ShowMessageRequestParams): boolean {
    const titles = (params.actions ?? []).map((each) => each.title);
    return titles.length === CHOICES.size && titles.every((each) => CHOICES.has(each));
}
