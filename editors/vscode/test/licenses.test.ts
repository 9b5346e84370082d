/** What is bundled comes with its license, and what may not be bundled stops the build. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { thirdParty } from "../scripts/licenses.mjs";

function withPackage(license: string, text?: string): string {
    const root = mkdtempSync(join(tmpdir(), "licenses-"));
    const folder = join(root, "node_modules", "@them", "thing");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "@them/thing", version: "1.2.3", license }));
    if (text !== undefined) {
        writeFileSync(join(folder, "LICENSE.md"), text);
    }
    return root;
}

const bundled = (root: string, ...inputs: string[]) =>
    thirdParty(root, [{ inputs: {}, outputs: { "view.js": { inputs: Object.fromEntries(inputs.map((each) => [each, { bytesInOutput: 1 }])), bytes: 1, imports: [], exports: [] } } }]);

describe("licenses of what is bundled", () => {
    it("names each package once, with its text, and nothing of ours", () => {
        const text = bundled(withPackage("MIT", "Be kind."), "src/main.ts", "node_modules/@them/thing/a.js", "node_modules/@them/thing/lib/b.js");
        expect(text.match(/@them\/thing 1\.2\.3 \(MIT\)\n\nBe kind\./g)).toHaveLength(1);
        expect(text).not.toContain("src/");
    });

    it("takes a choice of licenses of which one is allowed", () => {
        expect(bundled(withPackage("(GPL-3.0 OR Apache-2.0)", "Either."), "node_modules/@them/thing/a.js")).toContain("Either.");
    });

    it.each([
        ["GPL-3.0", "All of it.", "cannot be part"],
        ["MIT", undefined, "without the text"],
    ])("refuses a package under %s", (license, text, why) => {
        expect(() => bundled(withPackage(license, text), "node_modules/@them/thing/a.js")).toThrow(why);
    });
});
