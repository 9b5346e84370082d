/** What a line about a tool's call says: what was done, to what, and what came of it. */
import { TOOLS } from "../texts";
import { visible } from "./visible";

export interface ToolLook {
    readonly icon: string;
    readonly running: string;
    readonly done: string;
}

/** A tool of the editor or of an MCP server. */
const OTHER: ToolLook = { icon: "tools", running: TOOLS.using, done: TOOLS.used };

/** By names: a model may call a tool whatever it likes, also `constructor`. */
const LOOKS: ReadonlyMap<string, ToolLook> = new Map(Object.entries({
    read_file: { icon: "eye", running: TOOLS.reading, done: TOOLS.read },
    list_files: { icon: "list-tree", running: TOOLS.listing, done: TOOLS.listed },
    search_files: { icon: "search", running: TOOLS.searching, done: TOOLS.searched },
    propose_edit: { icon: "edit", running: TOOLS.wantsToChange, done: TOOLS.changed },
    run_command: { icon: "terminal", running: TOOLS.running, done: TOOLS.ran },
    recall: { icon: "history", running: TOOLS.recalling, done: TOOLS.recalled },
    tool_output: { icon: "history", running: TOOLS.recalling, done: TOOLS.recalled },
    budget: { icon: "credit-card", running: TOOLS.using, done: TOOLS.used },
    facts: { icon: "bookmark", running: TOOLS.lookingUpFacts, done: TOOLS.lookedUpFacts },
}));

export function lookOf(name: string): ToolLook {
    return LOOKS.get(name) ?? OTHER;
}

/** What a call did, or would have done, in a few words: `Changed prices.py`, `Used weather`. */
export function didOf(name: string, json: string): string {
    const { done } = lookOf(name);
    return visible(`${done} ${done === TOOLS.used ? name : targetOf(name, json).text}`.trim());
}

/** The file or the words that the call is about. `isCode`: a command. */
export interface Target {
    readonly text: string;
    readonly folder: string;
    readonly isCode: boolean;
}

/** A result of so few characters is shown itself. */
const SHORT = 24;
const WORDS = ["query", "pattern", "text", "name", "url"] as const;
const LONGEST = 200;

export function targetOf(name: string, json: string): Target {
    const values = argumentsOf(json);
    const said = (key: string) => (typeof values[key] === "string" ? visible(values[key]).replaceAll(/\s+/g, " ").slice(0, LONGEST) : "");
    const path = said("path");
    if (path !== "") {
        const cut = path.lastIndexOf("/");
        return { text: path.slice(cut + 1) || path, folder: cut > 0 ? path.slice(0, cut) : "", isCode: false };
    }
    const command = values["command"] ?? values["argv"];
    if (command !== undefined) {
        const words = Array.isArray(command) ? command.filter((each) => typeof each === "string").join(" ") : said("command");
        return { text: visible(words).slice(0, LONGEST), folder: "", isCode: true };
    }
    if (name === "search_files" && said("pattern") !== "") {
        return { text: said("pattern"), folder: "", isCode: true };
    }
    const words = WORDS.map(said).find((each) => each !== "");
    if (words !== undefined) {
        return { text: `“${words}”`, folder: "", isCode: false };
    }
    return { text: LOOKS.has(name) ? "" : visible(name), folder: "", isCode: false };
}

function argumentsOf(json: string): Record<string, unknown> {
    try {
        const value: unknown = JSON.parse(json);
        return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
    } catch {
        return {}; // they are still coming, or no JSON
    }
}

/** How the server says that a program has ended (`run_command`), behind what it wrote. */
const STATUS = /\[Exit status (\d+)\.[^\]]*\]$/;

/** How the server refuses a file with the name of a secret (`workspace/files.py`). */
const KEPT_BACK = " is never read:";

/** Whether what was asked for is kept from the model. */
export function isKeptBack(call: { readonly result?: string | undefined; readonly isError?: boolean | undefined }): boolean {
    return call.isError === true && call.result?.includes(KEPT_BACK) === true;
}

/** How the server tells the model that the user refused a call. */
const REFUSED = "The user said no.";

export function wasRefused(call: { readonly result?: string | undefined; readonly isError?: boolean | undefined }): boolean {
    return call.isError === true && call.result?.startsWith(REFUSED) === true;
}

/** The answer of `search_files`: paths, and under each its lines with their numbers and a tab. */
function hitsOf(result: string): string {
    const lines = result.split("\n");
    const isHit = (line: string | undefined) => line !== undefined && /^\d+\t/.test(line);
    const n = lines.filter(isHit).length;
    const files = lines.filter((line, index) => !isHit(line) && isHit(lines[index + 1])).length;
    return n === 0 ? TOOLS.noHit : `${n === 1 ? TOOLS.oneHit : `${n.toLocaleString("en")} ${TOOLS.hits}`}${files > 1 ? ` in ${files.toLocaleString("en")} ${TOOLS.files}` : ""}`;
}

/** How many lines an edit adds and takes away, by the texts of its call; undefined for another call. */
export function changeOf(name: string, json: string): { readonly added: number; readonly removed: number } | undefined {
    const { edits, content } = argumentsOf(json);
    if (name !== "propose_edit") {
        return undefined;
    }
    const pairs = Array.isArray(edits) ? edits.map((each: unknown) => (typeof each === "object" && each !== null ? (each as { old_text?: unknown; new_text?: unknown }) : {})) : [{ old_text: "", new_text: content }];
    let [added, removed] = [0, 0];
    for (const { old_text, new_text } of pairs) {
        const [was, now] = [linesOf(old_text), linesOf(new_text)];
        while (was.length > 0 && now.length > 0 && was[0] === now[0]) {
            was.shift();
            now.shift();
        }
        while (was.length > 0 && now.length > 0 && was.at(-1) === now.at(-1)) {
            was.pop();
            now.pop();
        }
        added += now.length;
        removed += was.length;
    }
    return { added, removed };
}

const linesOf = (text: unknown): string[] => (typeof text === "string" && text !== "" ? text.replace(/\n$/, "").split("\n") : []);

/** What came of it, in a few words. */
export function outcomeOf({ name, result = "" }: { readonly name: string; readonly result?: string | undefined }): string {
    if (name === "search_files") {
        return hitsOf(result);
    }
    if (name === "propose_edit") {
        return "";
    }
    const status = name === "run_command" ? STATUS.exec(result)?.[1] : undefined;
    if (status !== undefined && status !== "0") {
        return `${TOOLS.exitStatus} ${status}`;
    }
    const text = status === undefined ? result : result.replace(STATUS, "").trimEnd();
    const n = text === "" ? 0 : text.split("\n").length;
    if (name === "run_command" && n === 1 && text.length <= SHORT) {
        return visible(text);
    }
    return n === 0 ? "" : n === 1 ? TOOLS.oneLine : `${n.toLocaleString("en")} ${TOOLS.lines}`;
}
