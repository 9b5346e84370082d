/** The list of models: what can be used comes first, and a person sees what each other one lacks. */
import { expect, test } from "vitest";

import { rows } from "../src/native/model_list";
import type { ModelInfo } from "../src/protocol.gen";

function model(name: string, provider: string, isAvailable: boolean, budgetTokens = 186_000): ModelInfo {
    return { name, provider, isAvailable, budgetTokens, windowTokens: 200_000, maxOutputTokens: 8_000, limitsSource: "prefix", isDefault: false };
}

const ALL = [
    model("claude-opus", "anthropic", false),
    model("gpt-a", "openai", true),
    model("gpt-b", "openai", true),
    model("ollama/qwen3", "ollama", true, 28_000),
    model("editor/copilot/gpt", "editor", true),
    model("offline", "offline", true),
];

test("usable models come first, the one in use at the top, then those of VS Code, those that need a key, and quotes", () => {
    const found = rows(ALL, "gpt-b", 0);
    expect(found.map((each) => each.label)).toEqual(["gpt-b", "gpt-a", "ollama/qwen3", "editor/copilot/gpt", "claude-opus", "Quotes only", "Keys and services…"]);
    expect(found.map((each) => each.group)).toEqual(["ready to use", undefined, undefined, "from VS Code", "needs a key", "", ""]);
    expect(found[0]).toMatchObject({ icon: "check", description: "OpenAI · reads 186k tokens", choice: { model: "gpt-b" } });
    expect(found[4]).toMatchObject({ description: "Anthropic · add a key first", choice: { needsKey: "anthropic" } });
});

test("a model that cannot take all of the conversation says what becomes of it", () => {
    const used = (tokens: number) => rows(ALL, "gpt-a", tokens).find((each) => each.label === "ollama/qwen3")?.description;
    expect(used(28_000)).toBe("On this computer (Ollama) · reads 28.0k tokens");
    expect(used(28_001)).toMatch(/shorter: older messages will be summarized$/);
});
