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
    refused: (service: string) => `${service} did not accept the key. It may be mistyped or revoked.`,
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
    exitStatus: "exit status",
    oneLine: "1 line",
    lines: "lines",
} as const;

/** The conversation, and what is done with its messages. */
export const CHAT = {
    new: "New conversation",
    conversations: "Conversations",
    facts: "Facts",
    you: "You",
    copy: "Copy",
    copyAnswer: "Copy answer",
    edit: "Edit and send again, in a fork",
    fork: "Fork from here",
    hidden: "Taken back",
    sendInFork: "Send in a fork",
    cancel: "Cancel",
    waiting: "Waiting for the first word…",
    tryAgain: "Try again",
    goOn: "Continue",
    deleted: "was deleted for good.",
    emptyTitle: "Ask about this folder",
    emptyLead: "Every message is kept. When a conversation gets long, older parts are summarized, and you can always open the originals.",
    starters: ["What does this project do?", "Where would I start reading?", "What changed here lately?"],
} as const;

/** The field in which one writes. */
export const COMPOSER = {
    message: "Message",
    placeholder: "Ask about this folder",
    addContext: "Add context (@)",
    addSelection: "Add the selection",
    send: "Send",
    stop: "Stop",
    goOnInFork: "Go on in a fork",
    hint: "@ adds context · / runs a command",
    queued: "Sends after this answer",
    of: "of",
    tokens: "tokens",
    summarizedAt: "Older messages are summarized when it fills up. You can undo that.",
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
    always: "Always allow",
    never: "Never allow",
} as const;

/** How an answer ended, and what can be done then. */
export const ENDINGS = {
    stopped: "You stopped this answer.",
    brokeOff: "This answer broke off.",
    limit: "The answer reached its length limit.",
    dismiss: "Dismiss",
    close: "Close",
    keep: "Keep as it is",
    discard: "Discard the answer",
    discardAndEdit: "Discard, and edit my message",
} as const;

/** A button of shell code. */
export const RUN_CODE = "Put this into a terminal";

export const TITLE_NAME = "Title of the conversation";
