/** What was attached to a message, to be sent again as it was then. */
import type { ServerPort } from "../port";
import { ConversationPictureRequest, ConversationReadRequest, type Attachment } from "../protocol.gen";

/** As the server reads a message (PROTOCOL.md, "Mentions"), without what ends the sentence around it. */
const MENTION = /(?:^|[\s([{,;])@(?:"([^"\n]+)"|([^\s"]+))/g;
const LINES = /^(.+):(\d+)-(\d+)$/;

/** Without what the text mentions: that is attached by the words that mention it, if they still stand there. */
export async function attachedTo(server: ServerPort, conversationId: string, messageId: number): Promise<Attachment[]> {
    const { messages } = await server.request(ConversationReadRequest, { conversationId, start: messageId, limit: 1 });
    const message = messages.find((each) => each.id === messageId);
    const mentions = [...(message?.text ?? "").matchAll(MENTION)].map((match) => match[1] ?? (match[2] ?? "").replace(/[.,;:!?)\]}]+$/, ""));
    const isMentioned = (name: string) => mentions.some((each) => name === each || name.startsWith(`${each}:`) || name.startsWith(each.endsWith("/") ? each : `${each}/`));
    const found: Attachment[] = [];
    for (const { type, name = "", text = "", digest } of message?.parts ?? []) {
        if (isMentioned(name)) {
            continue;
        }
        if (type === "attachment") {
            const [, path = name, first, last] = LINES.exec(name) ?? [];
            found.push({ type: "selection", path, text, ...(first === undefined ? {} : { startLine: Number(first), endLine: Number(last) }) });
        } else if (type === "image" && digest !== undefined) {
            const { data } = await server.request(ConversationPictureRequest, { conversationId, digest });
            found.push({ type: "image", name, data });
        }
    }
    return found;
}
