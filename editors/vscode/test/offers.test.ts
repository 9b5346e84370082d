/** Only the offer to take up an answer again is left to the panel; every other question of the server is asked. */
import { expect, test } from "vitest";

import { isOffer } from "../src/chat/offers";

const question = (...titles: string[]) => ({ type: 2 as const, message: "?", actions: titles.map((title) => ({ title })) });

test("an offer is known by all that can be chosen", () => {
    expect(isOffer(question("Continue", "Keep", "Discard", "Retry"))).toBe(true);
    expect(isOffer(question("Continue", "Keep"))).toBe(false);
    expect(isOffer(question("Begin a conversation", "Leave it alone"))).toBe(false);
    expect(isOffer({ type: 2, message: "?" })).toBe(false);
});
