import js from "@eslint/js";
import tseslint from "typescript-eslint";

export default tseslint.config(
    { ignores: ["dist/", "build/", "node_modules/", "src/protocol.gen.ts"] },
    js.configs.recommended,
    ...tseslint.configs.strict,
    {
        files: ["**/*.mjs"],
        languageOptions: { globals: Object.fromEntries(["process", "console", "URL", "Buffer", "fetch", "setTimeout", "performance", "document", "globalThis", "innerWidth", "innerHeight", "clearTimeout", "requestAnimationFrame", "MutationObserver", "MessageChannel", "Image", "navigator", "Blob", "ClipboardItem", "OffscreenCanvas"].map((name) => [name, "readonly"])) },
    },
    {
        // Read by an extension host, which wants CommonJS.
        files: ["**/*.cjs"],
        languageOptions: { sourceType: "commonjs", globals: Object.fromEntries(["require", "exports", "__dirname", "setTimeout", "suite", "suiteSetup", "test"].map((name) => [name, "readonly"])) },
        rules: { "@typescript-eslint/no-require-imports": "off" },
    },
    {
        files: ["src/**/*.ts", "src/**/*.tsx"],
        languageOptions: { parserOptions: { projectService: true } },
        rules: {
            // A promise nobody waits for loses its error.
            "@typescript-eslint/no-floating-promises": "error",
            "@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: { attributes: false, arguments: false } }],
            "@typescript-eslint/switch-exhaustiveness-check": "error",
            // Texts of models and files must stay out of the logs: everything goes through the output channel.
            "no-console": "error",
        },
    },
    {
        // The panel runs in a browser: nothing of the editor or of node is there.
        files: ["src/view/**"],
        rules: {
            "no-restricted-imports": ["error", { paths: ["vscode"], patterns: ["node:*", "vscode-*", "../server/*", "../chat/*"] }],
            "no-restricted-properties": [
                "error",
                { property: "innerHTML", message: "Text of a model becomes elements in markdown.ts only." },
                { property: "outerHTML", message: "Text of a model becomes elements in markdown.ts only." },
            ],
        },
    },
    { files: ["src/native/**", "src/facts/**"], rules: { "@typescript-eslint/no-deprecated": "off" } },
);
