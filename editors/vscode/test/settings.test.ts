/** The server hears the settings of its schema and nothing else. */
import { expect, test } from "vitest";

import manifest from "../package.json";
import { forServer } from "../src/settings";

const known = Object.keys(manifest.contributes.configuration[0]?.properties ?? {});

test("the extension's own settings are not sent", () => {
    const section = { server: { path: "/opt/palimpsest", python: "" }, model: "offline", statusBar: { visible: true } };
    expect(forServer(section, known)).toEqual({ model: "offline" });
});

test("what is not set is absent, not null", () => {
    expect(forServer({ model: null, context: { threshold: null, target: 0.4 } }, known)).toEqual({ context: { target: 0.4 } });
});

test("settings written with dots arrive nested", () => {
    expect(forServer({ "context.max_tokens": 1000 }, known)).toEqual({ context: { max_tokens: 1000 } });
});

test("objects with names of the user's own stay whole", () => {
    const models = { "gpt-5.2": { window: 400_000 } };
    expect(forServer({ models }, known)).toEqual({ models });
});

test("a section that is no object gives nothing", () => {
    expect(forServer(undefined, known)).toEqual({});
    expect(forServer([], known)).toEqual({});
});
