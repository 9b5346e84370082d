// The licenses of the packages whose code or files a bundle holds, as the text that comes with the extension.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Licenses under which a package may be part of the extension. */
const ALLOWED = new Set(["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BlueOak-1.0.0", "CC-BY-4.0", "ISC", "MIT", "MPL-2.0"]);
const IN_PACKAGE = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/;

/**
 * The names, versions, licenses and license texts of the packages in these bundles, by name.
 * @param {string} root The folder in which esbuild worked.
 * @param {import("esbuild").Metafile[]} metafiles
 */
export function thirdParty(root, metafiles) {
    const inputs = metafiles.flatMap((metafile) => Object.values(metafile.outputs).flatMap((output) => Object.keys(output.inputs)));
    const folders = new Set(inputs.map((input) => IN_PACKAGE.exec(input)?.[0]).filter((folder) => folder !== undefined));
    const parts = [...folders].map((folder) => described(join(root, folder))).sort();
    return ["This extension contains these packages.", ...new Set(parts)].join(`\n\n${"=".repeat(80)}\n\n`) + "\n";
}

/** @param {string} folder */
function described(folder) {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    if (!license?.replace(/[()]/g, "").split(" OR ").some((each) => ALLOWED.has(each))) {
        throw new Error(`${name} ${version} has the license ${license}, with which it cannot be part of the extension.`);
    }
    const texts = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice|thirdpartynotices)/i.test(file) && !file.endsWith(".d.ts")).sort();
    if (!texts.length) {
        throw new Error(`${name} ${version} comes without the text of its license.`);
    }
    return [`${name} ${version} (${license})`, ...texts.map((file) => readFileSync(join(folder, file), "utf8").trim())].join("\n\n");
}
