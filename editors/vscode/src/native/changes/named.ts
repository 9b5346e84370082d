/** The file that a block of code is about, as it says itself: in its info string, or in a comment on its first line. */

const PATH = String.raw`[\w@.()[\]+~ -]*(?:[\\/][\w@.()[\]+~ -]+)*`;
const NAMED = /(?:^|\s)(?:title|file|filename|path)\s*[=:]\s*(?:"([^"]+)"|'([^']+)'|(\S+))/i;
const COMMENT = new RegExp(`^(?:\\/\\/+|#+|--|;+|%+|\\/\\*+|<!--)\\s*(?:file(?:name)?:?\\s+)?(${PATH})\\s*(?:\\*\\/|-->)?$`, "i");

export interface Named {
    /** With /; undefined where the block names no file. */
    readonly path: string | undefined;
    /** Without the line that names it. */
    readonly code: string;
}

/** The path that an info string names. */
export function pathInInfo(info: string): string | undefined {
    return inInfo(info.trim());
}

export function readNamed(info: string, code: string): Named {
    const ofInfo = pathInInfo(info);
    const [first = "", ...rest] = code.split(/\r\n|\r|\n/);
    const ofComment = toPath(COMMENT.exec(first.trim())?.[1]);
    const isBoth = ofComment !== undefined && (ofInfo === undefined || ofInfo.endsWith(ofComment) || ofComment.endsWith(ofInfo));
    return { path: ofInfo ?? ofComment, code: isBoth ? rest.join("\n") : code };
}

/** `ts title="src/a.ts"`, `ts src/a.ts`, `ts:src/a.ts`, `src/a.ts`, and `12:20:src/a.ts`. */
function inInfo(info: string): string | undefined {
    const named = NAMED.exec(info);
    if (named !== null) {
        return toPath(named[1] ?? named[2] ?? named[3]);
    }
    const words = info.replace(/\{[^}]*\}/g, " ").split(/\s+/).filter((each) => each !== "");
    return words.map((each) => toPath(each.replace(/^(?:\d+:\d+:|[\w+#-]+:(?=[\w./]))/, ""))).find((each) => each !== undefined);
}

/** What looks like a path of a file below a folder: it has an ending, or a folder. */
function toPath(text: string | undefined): string | undefined {
    const path = text?.trim().replaceAll("\\", "/").replace(/^\.\//, "").replace(/:\d+(?:[-:]\d+)?$/, "");
    if (path === undefined || path === "" || /\s{2}|^[.\s/]*$|\/$/.test(path)) {
        return undefined;
    }
    const name = path.split("/").at(-1) ?? "";
    return /^\.?[^\s.][^.]*(?:\.[^.]*)*\.[A-Za-z]\w{0,9}$|^\.\w+$|^(?:Makefile|Dockerfile|Jenkinsfile|Rakefile|Gemfile|Procfile)$/.test(name) && (path.includes("/") || !/\s/.test(name)) ? path : undefined;
}
