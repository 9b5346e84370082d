/** What a user reads in the panel. */

/** The page that shows the next request. */
export const CONTEXT = {
    title: "What the model sees",
    reading: "Reading what the model sees…",
    instructions: "Instructions",
    tools: "Tools",
    rules: "Your rules",
    summary: "Summary",
    overhead: "Added by the service",
    alwaysFirst: "Always sent first.",
    yourRules: "Your rules stand in front of every request.",
    wordForWord: "Here word for word, because it fits.",
    shortened: "Too large to be sent whole. The model can ask for the rest.",
    recalled: "Recalled from earlier, because it bears on the message.",
    addedByService: "The model's service adds it to every request.",
    sentBefore: "Sent before",
    isNew: "New, not in the cache",
    summarizesHere: "summarizes here",
    summarizesAt: "summarizes at",
    inOrder: "In order",
    inOrderName: "Everything the model sees, in order",
    map: "Map",
    list: "List",
    you: "You",
    answers: "Answers",
    chosen: "The chosen segment",
    showInChat: "Show in chat",
    summarizeUpToHere: "Summarize up to here",
    sendOriginals: "Undo: send the originals",
    writeAgain: "Write again",
    overTime: "Over time",
    cost: "Cost",
    details: "Details",
    summarizeNow: "Summarize now",
    undoLast: "Undo last",
    redoLast: "Redo the last undo",
    nothingYet: "Instructions and tools only. What you say appears here, piece by piece.",
    noConversation: "What you say appears here, piece by piece. Ask something first.",
} as const;

/** A summary where its messages were. */
export const LAYER = {
    name: "Summarized messages",
    showOriginals: "Show originals",
    summary: "Summary",
    undo: "Undo: send the originals",
    undoShort: "Undo this summary",
    again: "Write again",
    reading: "Reading the originals…",
} as const;

export const FACTS = {
    title: "Facts",
    search: "Search facts",
    all: "All",
    toCheck: "To check",
    pinned: "Pinned",
    wholeFolder: "About the whole folder",
    thenAndNow: "Then and now",
    update: "Update from file",
    stillTrue: "Still true",
    markStillTrue: "Mark as still true",
    forget: "Forget",
    forgetFact: "Forget fact",
    pin: "Pin fact",
    unpin: "Unpin fact",
    ask: "Ask about this",
    forgotten: "Forgotten:",
    undo: "Undo",
    add: "Add a fact about the selection",
    none: "No facts yet",
    noneLead: "While you chat, decisions and what files are about are kept here. When the code they rest on changes, you are told.",
    noMatch: "No fact matches.",
    review: "Review",
    hide: "Hide until it changes",
} as const;

export const HISTORY = {
    title: "Conversations",
    search: "Search conversations",
    placeholder: "Search titles and messages",
    clear: "Clear",
    current: "Current",
    archived: "Archived",
    titles: "Titles",
    messages: "Messages",
    untitled: "Untitled",
    answering: "Answering",
    brokeOff: "Broke off",
    open: "Open",
    rename: "Rename",
    archive: "Archive",
    takeOut: "Take out of the archive",
    delete: "Delete…",
    deleteForGood: "Delete for good",
    archiveInstead: "Archive instead",
    cancel: "Cancel",
    cannotBeUndone: "This cannot be undone. Archiving only hides it.",
    none: "Nothing here yet. What you ask in this folder is kept here, on this computer.",
    noneArchived: "No conversation is archived.",
    noMatch: "Nothing matches.",
    readAgain: "Read again",
    back: "Back to the conversation",
    new: "New conversation",
} as const;

/** The way to a model, and to a server that runs. */
export const SETUP = {
    noModel: "No model is set up yet. Until then you get exact quotes from your files, and nothing leaves this computer.",
    addKey: "Add a key or choose a model",
    quotes: "These are exact quotes. For answers in words:",
    largerModel: "Larger model…",
    changeKey: "Change key…",
    switchModel: "Switch model…",
    server: "Palimpsest’s server",
    tryAgain: "Try again",
    choosePython: "Choose Python…",
    showLog: "Show log",
} as const;

/** Lines about calls of tools. */
export const TOOLS = {
    reading: "Reading",
    read: "Read",
    listing: "Listing",
    listed: "Listed",
    searching: "Searching",
    searched: "Searched",
    wantsToChange: "Wants to change",
    changed: "Changed",
    running: "Running",
    ran: "Ran",
    recalling: "Recalling",
    recalled: "Recalled",
    lookingUpFacts: "Looking up facts",
    lookedUpFacts: "Looked up facts",
    using: "Using",
    used: "Used",
    failed: "Failed",
    thinking: "Thinking",
    thought: "Thought",
    tools: "tools",
    files: "files",
    times: "times",
    failedOf: "failed",
    noHit: "no hit",
    oneHit: "1 hit",
    hits: "hits",
    refused: "refused",
    notRun: "Not run",
    saidNo: "you said no",
    exitStatus: "exit status",
    oneLine: "1 line",
    lines: "lines",
} as const;

/** What is waited for. */
export const WAITING = {
    theModel: "The model",
    isThinking: "is thinking",
    againAfter: (seconds: number) => `Trying again by itself after ${seconds} seconds.`,
    againIn: "Trying again by itself in",
    nextIn: (nFailed: number) => `${["One", "Two", "Three", "Four", "Five"][nFailed - 1] ?? nFailed} attempts failed. The next one is in`,
    againNow: "Trying again…",
    tryNow: "Try now",
    switchModel: "Switch model…",
    stop: "Stop",
} as const;

/** The conversation, and what is done with its messages. */
export const CHAT = {
    new: "New conversation",
    conversations: "Conversations",
    facts: "Facts",
    more: "More",
    you: "You",
    copy: "Copy",
    copyAnswer: "Copy answer",
    attached: "Attached",
    attachedText: "What was attached",
    lastAnswer: "The last answer",
    edit: "Edit and send again",
    fork: "Fork from here",
    hidden: "Taken back",
    sendInFork: "Send in a fork",
    cancel: "Cancel",
    tryAgain: "Try again",
    goOn: "Continue",
    deleted: "was deleted for good.",
    emptyTitle: "Ask about this folder",
    emptyLead: "Every message is kept. When a conversation gets long, older parts are summarized, and you can always open the originals.",
    starters: [
        { icon: "compass", text: "What does this project do?", why: "README.md and the folder tree" },
        { icon: "file-code", text: "Where would I start reading?", why: "The files that others rest on" },
        { icon: "beaker", text: "What is tested, and what is not?", why: "Code and tests, side by side" },
    ],
} as const;

/** What stands behind More in the header, beside what the pages say. */
export const MORE = {
    undo: "Undo last summary",
    redo: "Redo last summary",
    rename: "Rename…",
    fork: "Fork this conversation",
    model: "Choose a model…",
    key: "Add or change a key…",
} as const;

/** The field in which one writes. */
export const COMPOSER = {
    message: "Message",
    placeholder: "Ask about this folder",
    addContext: "Add context (@)",
    addFile: "File or folder…",
    addSelection: "Selection in the editor",
    quotesOnly: "Quotes only",
    model: "Model",
    escStops: "Esc stops the answer",
    draftSaved: "Draft saved",
    send: "Send",
    stop: "Stop",
    goOnInFork: "Go on in a fork",
    hint: "@ adds context · / runs a command",
    queued: "Sends after this answer",
    of: "of",
    tokens: "tokens",
    summarizedAt: "Older messages are summarized when it fills up. You can undo that.",
    everythingElse: "Everything else",
    narrowPlaceholder: "Ask, @ context, / command",
    seesWhat: "What the model sees",
    summarizeNow: "Summarize now",
} as const;

/** Questions of tools. */
export const DECISIONS = {
    accept: "Accept",
    run: "Run",
    allow: "Allow once",
    reject: "Reject",
    dontRun: "Don’t run",
    notNow: "Not now",
    moreAnswers: "More answers (Alt+Enter)",
    acceptAll: (n: number) => `Accept all ${n}`,
    always: "Always allow",
    never: "Never allow",
} as const;

/** How an answer ended, and what can be done then. */
export const ENDINGS = {
    stopped: "You stopped this answer.",
    brokeOff: "This answer broke off.",
    limit: "The answer reached its length limit.",
    closed: "Palimpsest was closed during this answer.",
    unknownFate: (tool: string) => `It is not known whether “${tool}” took effect.`,
    more: "More",
    dismiss: "Dismiss",
    close: "Close",
    keep: "Keep as it is",
    discard: "Discard the answer",
    discardAndEdit: "Discard, and edit my message",
} as const;

/** What failed, by the kind of the error: what happened, and what it means; undefined: as the server says it. */
export const FAILED: Readonly<Record<string, (service: string) => readonly [string, string | undefined]>> = {
    auth: (service) => [`${service} did not accept the key.`, "It may be mistyped or revoked. Your message is kept."],
    rate_limited: (service) => [`Too many requests to ${service}.`, undefined],
    overloaded: (service) => [`${service} is overloaded.`, undefined],
    network: (service) => [`No connection to ${service}.`, "Your message is kept and can be sent when you are back online."],
    context_too_long: () => ["This message does not fit.", undefined],
    recent_messages_too_large: () => ["This message does not fit.", undefined],
    quota: (service) => [`Your ${service} account is out of credit.`, "Add credit there, or go on with another model."],
};

/** Code that is folded. */
export const CODE = {
    showAll: (lines: number) => `Show all ${lines.toLocaleString("en")} lines`,
    showLess: "Show less",
} as const;

/** A button of code that can be put into a file. */
export const REVIEW_CODE = "Review as a change";

/** A button of shell code. */
export const RUN_CODE = "Put this into a terminal";

export const TITLE_NAME = "Title of the conversation";
