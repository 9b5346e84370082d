// Bundles the two programs of the extension: the one in the extension host, and the one in the panel; with the licenses of
// the packages that are in them.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { thirdParty } from "./licenses.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const isProduction = process.argv.includes("--production");
const shared = {
    absWorkingDir: root,
    bundle: true,
    metafile: true,
    minify: isProduction,
    sourcemap: isProduction ? false : "linked",
    logLevel: "warning",
    define: { "process.env.NODE_ENV": '"production"' },
};

rmSync(`${root}/dist`, { recursive: true, force: true });
mkdirSync(`${root}/dist`);
mkdirSync(`${root}/build`, { recursive: true });
const built = await Promise.all([
    build({
        ...shared,
        entryPoints: ["src/extension.ts"],
        outfile: "dist/extension.js",
        platform: "node",
        format: "cjs",
        target: "node20",
        external: ["vscode"],
        define: {},
        mainFields: ["module", "main"],
    }),
    build({
        ...shared,
        entryPoints: ["src/view/main.tsx"],
        outfile: "dist/view.js",
        platform: "browser",
        format: "iife",
        target: "chrome128",
        jsx: "automatic",
        jsxImportSource: "preact",
    }),
    build({ ...shared, entryPoints: { view: "src/view/main.css" }, outdir: "dist", assetNames: "[name]", loader: { ".ttf": "file" }, target: "chrome128", minify: isProduction }),
]);
copyFileSync(`${root}/../../LICENSE`, `${root}/LICENSE`);
writeFileSync(`${root}/dist/THIRD-PARTY.txt`, thirdParty(root, built.map((each) => each.metafile)));
