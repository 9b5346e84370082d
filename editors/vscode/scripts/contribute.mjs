// Puts the server's settings (settings.schema.json, which is generated) into the manifest. With --check nothing is
// written: the exit code is 1 when the manifest is not what would be written.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const file = `${root}/package.json`;
const before = readFileSync(file, "utf8");
const manifest = JSON.parse(before);
const schema = JSON.parse(readFileSync(`${root}/settings.schema.json`, "utf8"));
const own = {
    title: "Server",
    properties: {
        "palimpsest.server.path": {
            type: "string",
            default: "",
            scope: "machine",
            markdownDescription: "The program `palimpsest` to start. Empty: the interpreter below, else an environment of the extension's own.",
        },
        "palimpsest.server.python": {
            type: "string",
            default: "",
            scope: "machine",
            markdownDescription: "A Python interpreter that has `palimpsest-ls`. It is run with `-P`, so that files of a workspace cannot stand in for its modules.",
        },
    },
};
const models = {
    title: "Models of VS Code",
    properties: {
        "palimpsest.editorModels": {
            type: "boolean",
            default: false,
            scope: "window",
            markdownDescription:
                "Whether conversations may use the language models that VS Code offers to extensions, such as Copilot's. They are listed as `editor/…`, are asked only where you choose one, and VS Code asks you before the first time.",
        },
    },
};
manifest.contributes.configuration = [{ title: schema.title, properties: schema.properties }, own, models];
// What a workspace nobody trusts says in its settings counts for none of them.
manifest.capabilities.untrustedWorkspaces.restrictedConfigurations = [...Object.keys(schema.properties), ...Object.keys(models.properties)];
const after = `${JSON.stringify(manifest, null, 2)}\n`;
if (process.argv.includes("--check")) {
    if (after !== before) {
        console.error("package.json does not hold the settings of settings.schema.json. Run `npm run contribute`.");
        process.exitCode = 1;
    }
} else if (after !== before) {
    writeFileSync(file, after);
}
