/** What the panel wants of the editor around it. The extension has one made of VS Code; tests have another. */
import type { Attachment, ModelInfo } from "../protocol.gen";

/** A file before and after edits of it, and now; undefined where there is no such file. */
export interface Compared {
    readonly uri: string;
    readonly path: string;
    readonly before: string | undefined;
    readonly after: string;
    readonly now: string | undefined;
}

export interface Desk {
    /** Shows what edits changed, and what was changed since. */
    compare(files: readonly Compared[]): Promise<void>;
    copy(text: string): Promise<void>;
    insert(text: string): Promise<void>;
    /** Shows what would change in a file of the workspace; the user accepts or discards it there. `info`: of the block of code. */
    apply(text: string, info: string): Promise<void>;
    /** Opens a page or a file when the user agrees. */
    openLink(href: string): Promise<void>;
    /** Opens a file of the workspace, at a line counted from 0 where one is named. */
    openPlace(uri: string, line: number | undefined): Promise<void>;
    /** Opens a file by its path in a workspace folder, at a line counted from 0 where one is named. */
    openPath(path: string, line: number | undefined): Promise<void>;
    /** Puts a command into a terminal; the user runs it. */
    toTerminal(text: string): Promise<void>;
    /** Asks for a fact about what is selected in the editor, and keeps it. */
    addFact(): Promise<void>;
    /** The workspace folders. */
    folders(): ReadonlyArray<{ readonly uri: string; readonly name: string }>;
    /** Whether the user says `yes` to the question. */
    confirm(question: string, yes: string): Promise<boolean>;
    input(prompt: string, value: string): Promise<string | undefined>;
    /** `used`: the tokens of the conversation so far. */
    pickModel(models: readonly ModelInfo[], current: string | undefined, used: number): Promise<string | undefined>;
    /** Asks for the key of a service, or for the service first. Whether something was set up. */
    setUp(service: string | undefined): Promise<boolean>;
    choosePython(): Promise<void>;
    /** What is selected in the editor, or the lines the cursor is in; undefined without an editor. */
    selection(): Attachment | undefined;
    /** The path of the open file in its folder, absent without one; and how many errors language tools report. */
    surroundings(): { readonly file?: string; readonly errors: number };
    /** The conversation that was open last in this window. */
    lastConversation: string | undefined;
    /** What is typed of a message that will begin a conversation; empty for nothing. The server keeps the other drafts. */
    newDraft: string;
    /** Opens the editor's settings at one. */
    openSetting(name: string): Promise<void>;
    startServer(): void;
    showLog(): void;
}
