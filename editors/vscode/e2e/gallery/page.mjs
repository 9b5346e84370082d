/** The HTML page of a gallery: page by page and theme by theme, the design's pictures and ours, and what axe found. */
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";

const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** The design's pictures by page and theme; the names are NUMBER-PAGE-THEME-WIDTHS.png. */
function readDesigns(folder, out) {
    if (folder === undefined || folder === "") {
        return [];
    }
    mkdirSync(path.join(out, "design"), { recursive: true });
    return readdirSync(folder).sort().flatMap((file) => {
        const found = /^\d+-(?<page>[a-z-]+?)-(?<theme>hcdark|hclight|dark2026|light2026|dark|light)(?:-\d+)*\.png$/.exec(file);
        if (found === null) {
            return [];
        }
        copyFileSync(path.join(folder, file), path.join(out, "design", file));
        return [{ ...found.groups, file: `design/${file}` }];
    });
}

/** How many findings of axe there are. */
export function writePage(out, { scenes, pictures, findings, designs, themes }) {
    const ofDesign = readDesigns(designs, out);
    const all = findings.flatMap(({ scene, theme, found }) => found.map((each) => ({ scene, theme, ...each })));
    const sections = scenes.map((scene) => {
        const problem = pictures.find((each) => each.scene === scene.name && each.problem !== undefined);
        const rows = themes.map((theme) => {
            const ours = pictures.filter((each) => each.scene === scene.name && each.theme === theme);
            const theirs = ofDesign.filter((each) => scene.design === each.page && each.theme === theme);
            const design = theirs.map((each) => `<figure><img loading="lazy" src="${each.file}" alt="design"><figcaption>design</figcaption></figure>`);
            const shots = ours.map((each) => `<figure><img loading="lazy" src="${each.file}" alt="${each.width} pixels"><figcaption>${each.width}${each.out.length === 0 ? "" : ` — leaves the panel: ${escape(each.out.join(", "))}`}</figcaption></figure>`);
            return ours.length === 0 ? "" : `<h3>${theme}</h3><div class="row">${[...design, ...shots].join("")}</div>`;
        });
        const found = all.filter((each) => each.scene === scene.name);
        const list = found.length === 0 ? "<p>axe: nothing found.</p>" : `<ul>${found.map((each) => `<li><b>${each.theme}: ${each.id}</b> ${escape(each.help)}<br><code>${each.nodes.map(escape).join("<br>")}</code></li>`).join("")}</ul>`;
        return `<section id="${scene.name}"><h2>${scene.name}: ${escape(scene.title)}</h2>${problem === undefined ? "" : `<p><b>Not shown: ${escape(problem.problem)}</b></p>`}${list}${rows.join("")}</section>`;
    });
    const index = scenes.map((scene) => `<a href="#${scene.name}">${scene.name}</a>`).join(" · ");
    writeFileSync(path.join(out, "index.html"), `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>The panel, page by page</title>
<style>
body { margin: 16px; font: 14px/1.5 system-ui, sans-serif; color: #ddd; background: #333; }
a { color: #8cf; } h2 { margin-top: 48px; } .row { display: flex; gap: 16px; overflow-x: auto; align-items: flex-start; }
figure { margin: 0; flex: none; } figcaption { font-size: 12px; } img { display: block; max-height: 900px; border: 1px solid #666; } code { font-size: 12px; }
</style></head><body><h1>The panel, page by page</h1><p>${index}</p><p>${all.length} findings of axe.</p>
${sections.join("\n")}
</body></html>
`);
    return all.length;
}
