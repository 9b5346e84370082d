/** What is pasted or dropped into the panel: pictures, which are read here, and files of the folder, which the server reads. */
import { COMPOSER } from "../texts";
import type { Ends } from "./post";
import { visible } from "./visible";

/** The largest file, as the server has it. */
const MAX_MB = 20;
const MAX_BYTES = MAX_MB * 1024 * 1024;
const THUMBNAIL_PX = 96;
/** What models read. */
const PICTURES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);
/** What VS Code's explorer and tabs bring, and then what everybody brings. */
const URI_LISTS = ["application/vnd.code.uri-list", "text/uri-list"] as const;
const MOST_URIS = 50;

const filesIn = (given: DataTransfer | null): File[] => [...(given?.files ?? [])];

/** The pictures in what is pasted or dropped. */
export function picturesIn(given: DataTransfer | null): File[] {
    return filesIn(given).filter((each) => PICTURES.has(each.type));
}

/** Whether files hover over the panel; which ones is not told before they are dropped. */
export function hasFiles(given: DataTransfer | null): boolean {
    return ["Files", ...URI_LISTS].some((each) => given?.types.includes(each) === true);
}

/** Whether what is pasted is a text with its looks, of which some programs bring a picture as well. */
export const isRichText = (given: DataTransfer | null): boolean => ["text/plain", "text/html"].every((each) => given?.types.includes(each) === true);

/** Takes what is pasted or dropped, as far as it is a file; returns whether anything was. */
export function receive(given: DataTransfer | null, ends: Ends): boolean {
    const pictures = picturesIn(given);
    const others = filesIn(given).filter((each) => !pictures.includes(each));
    const uris = pictures.length > 0 ? [] : urisIn(given); // a picture of a page comes with the page's address
    if (pictures.length > 0) {
        void attach(pictures, ends, others);
    } else if (uris.length > 0) {
        ends.post({ type: "attachFiles", uris });
    } else if (others.length > 0) {
        ends.dispatch({ type: "note", text: refused(others) });
    }
    return pictures.length + uris.length + others.length > 0;
}

/** Hands pictures over to the host, each with a small one for its chip, and says which files cannot go with a message. */
export async function attach(files: readonly File[], { post, dispatch }: Ends, others: readonly File[] = []): Promise<void> {
    const taken = files.filter((each) => each.size <= MAX_BYTES);
    const large = files.filter((each) => each.size > MAX_BYTES);
    dispatch({ type: "reading", n: taken.length }); // until the host has them
    const unread: File[] = [];
    for (const file of taken) {
        const bytes = await file.arrayBuffer().catch(() => undefined);
        if (bytes === undefined) {
            dispatch({ type: "reading", n: -1 });
            unread.push(file);
            continue;
        }
        const thumbnail = await small(file);
        post({ type: "attachPicture", name: nameOf(file), data: base64(new Uint8Array(bytes)), ...(thumbnail === undefined ? {} : { thumbnail }) });
    }
    const problems = [...large.map((each) => COMPOSER.tooLarge(nameOf(each), MAX_MB)), ...unread.map((each) => COMPOSER.unreadable(nameOf(each))), ...(others.length === 0 ? [] : [refused(others)])];
    if (problems.length > 0) {
        dispatch({ type: "note", text: problems.join(" ") });
    }
}

const nameOf = (file: File): string => (file.name === "" ? "picture" : visible(file.name));

const refused = (files: readonly File[]): string => COMPOSER.noPicture(files.map(nameOf));

function urisIn(given: DataTransfer | null): string[] {
    const list = URI_LISTS.map((each) => given?.getData(each) ?? "").find((each) => each !== "") ?? "";
    return list.split(/\r?\n/).filter((line) => line !== "" && !line.startsWith("#")).slice(0, MOST_URIS);
}

function base64(bytes: Uint8Array): string {
    let text = "";
    for (let at = 0; at < bytes.length; at += 32_768) {
        text += String.fromCharCode(...bytes.subarray(at, at + 32_768));
    }
    return btoa(text);
}

/** A small picture as a data URL; undefined for what no browser can draw. */
async function small(file: File): Promise<string | undefined> {
    try {
        const whole = await createImageBitmap(file);
        const scale = Math.min(1, THUMBNAIL_PX / Math.max(whole.width, whole.height));
        const canvas = document.createElement("canvas");
        canvas.width = Math.max(1, Math.round(whole.width * scale));
        canvas.height = Math.max(1, Math.round(whole.height * scale));
        canvas.getContext("2d")?.drawImage(whole, 0, 0, canvas.width, canvas.height);
        whole.close();
        return canvas.toDataURL("image/png");
    } catch {
        return undefined;
    }
}
