/** What a terminal is told beside what is written is no output; what is written between two links is. */
import { expect, test } from "vitest";

import { isSilent } from "../src/native/shell_marks";

test.each([
    ["\u001b]633;C\u0007", true],
    ["\u001b]633;C\u0007\u001b]0;title\u001b\\ \r\n", true],
    ["\u001b]633;C\u0007done\r\n\u001b]633;D;0\u0007", false],
    ["\u001b]8;;file:///a\u001b\\a\u001b]8;;\u001b\\\r\n\u001b]633;D;0\u0007", false],
    ["", true],
])("%j is silent: %s", (output, expected) => {
    expect(isSilent(output)).toBe(expected);
});
