/** What the shell and its programs tell a terminal between what they write (OSC: shell integration, titles, links), each closed by BEL or ST. */
const MARKS = new RegExp(String.raw`\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)`, "g");

/** Whether nothing was written but marks and blanks. */
export function isSilent(output: string): boolean {
    return output.replaceAll(MARKS, "").trim() === "";
}
