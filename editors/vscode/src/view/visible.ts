/**
 * Text of models and files with what cannot be seen made visible: characters that turn the direction of the text around
 * them, that have no width, or that control a terminal stand as `⟨U+202E⟩`. A text reads as what it is.
 */
import { CODE } from "../texts";

// Joiners are part of how some scripts and emoji are written; between such characters they stay.
const HIDDEN =
    // eslint-disable-next-line no-control-regex, no-misleading-character-class
    /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]|[\ud800-\udfff]/gu;
const JOINED = /^[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Gujarati}]$/u;

export function visible(text: string): string {
    return text.replace(HIDDEN, (character, offset: number) => {
        if ((character === "\u200d" || character === "\u200c") && isJoined(text, offset)) {
            return character;
        }
        return `\u27e8U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}\u27e9`;
    });
}

function isJoined(text: string, offset: number): boolean {
    const before = [...text.slice(Math.max(0, offset - 2), offset)].at(-1) ?? "";
    const after = String.fromCodePoint(text.codePointAt(offset + 1) ?? 0);
    return JOINED.test(before) && JOINED.test(after);
}

/** The text without what a line is too long for. `most`: characters of one line. */
export function boundLines(text: string, most: number): string {
    if (text.length <= most) {
        return text;
    }
    return text
        .split("\n")
        .map((line) => (line.length <= most ? line : `${line.slice(0, most)} … ${CODE.more((line.length - most).toLocaleString("en"))}`))
        .join("\n");
}
