/** What a user reads outside the panel: quick picks, notifications, the status bar, and the start of the server. */
import { counted, short } from "../view/figures";

export const SAFE = "Your conversations are safe.";

export const START = {
    starting: "Palimpsest is starting.",
    settingUp: "Setting up, about 20 seconds the first time…",
    stoppedByUser: "The set-up was stopped.",
    tryAgain: "Try again",
    choosePython: "Choose Python…",
    showLog: "Show log",
    restart: "Restart",
    pythonDialog: "A Python 3.11 or newer",
    noPython: `Palimpsest could not start. It needs Python 3.11 or newer; none was found on this computer. ${SAFE}`,
    oldPython: (found: string) => `Palimpsest could not start. It needs Python 3.11 or newer; this computer has ${found}. ${SAFE}`,
    barePython: (found: string) => `Palimpsest could not start. Python ${found} cannot create environments. Install its package python${found}-venv, or choose another Python. ${SAFE}`,
    noProxy: `Palimpsest could not start. The packages it needs could not be downloaded, because the proxy does not answer. Check the proxy (HTTPS_PROXY), then try again. ${SAFE}`,
    noNetwork: `Palimpsest could not start. The packages it needs could not be downloaded. Check the network, then try again. After the first time, no network is needed. ${SAFE}`,
    noRoom: (folder: string) => `Palimpsest could not start. There is not enough room on the disk: it needs about 100 MB in ${folder}. ${SAFE}`,
    notInstalled: `Palimpsest could not start. The packages it needs could not be installed; the log says why. ${SAFE}`,
    failed: (why: string) => `Palimpsest could not start. ${why} ${SAFE}`,
    named: (sentence: string) => `Palimpsest: ${sentence}`,
    ended: "It ended or did not answer at its start. The log has its last output.",
    notRunning: "Palimpsest is not running. Restart it, or look into its log.",
    stopped: "Palimpsest was stopped.",
    again: (seconds: number) => `Palimpsest stopped unexpectedly and is started again${seconds === 0 ? "" : ` in ${seconds} s`}. The text that was shown is kept.`,
    noServer: "This build of the extension brings no server. Set palimpsest.server.path or palimpsest.server.python.",
    notOurs: "The program that was started is not Palimpsest. Check the setting palimpsest.server.path.",
    tooNew: (theirs: number, ours: number) => `The server speaks version ${theirs} of the protocol and this extension version ${ours}. Update the extension, or point palimpsest.server.path to an older server.`,
    tooOld: (theirs: number, ours: number) => `The server speaks version ${theirs} of the protocol and this extension version ${ours}. Update the package palimpsest-ls that palimpsest.server.path or palimpsest.server.python leads to.`,
    keepsEnding: `Palimpsest stopped and could not be restarted. ${SAFE}`,
} as const;

export const KEYS = {
    title: "Add a key or choose a model (1/2)",
    add: "Add a key or choose a model",
    which: "Which service?",
    isSet: "key is set",
    isSetElsewhere: "key is set in the environment",
    other: "Another service that speaks OpenAI’s protocol…",
    otherDetail: "Address and key",
    ofEditor: "Models of VS Code",
    ofEditorDetail: "No key needed; uses your Copilot plan",
    local: "Models on this computer",
    localIdle: "Ollama, here or at another address…",
    localReady: (n: number) => `Ollama is running, ${counted(n, "model")}`,
    remove: "Remove a key…",
    keyTitle: (service: string) => `${service} key (2/2)`,
    keyPrompt: (service: string) => `Kept in VS Code’s secret storage and sent to ${service} only. Enter saves, Esc cancels.`,
    otherKeyPrompt: "Kept in VS Code’s secret storage and sent to this service only. Leave it empty if the service wants none.",
    empty: "Paste the key, or press Esc.",
    refused: (service: string) => `${service} did not accept the key. It may be mistyped or revoked.`,
    unchecked: (why: string) => `The key could not be checked. ${why}`,
    keepAnyway: "Keep it anyway",
    tryAgain: "Try again",
    address: "Address of the service (1/2)",
    addressPrompt: "Such as http://localhost:8000/v1. It takes the place of OpenAI.",
    badAddress: "An address begins with http:// or https://.",
    ollamaTitle: "Address of Ollama",
    ollamaPrompt: "Where Ollama listens. Nothing leaves for anywhere else.",
    ollamaAway: (address: string) => `Nothing answers at ${address}. Start Ollama there, or correct the address.`,
    ollamaEmpty: "Ollama answers but has no models yet. Run “ollama pull qwen3” in a terminal, then try again.",
    saved: (service: string, n: number) => `Key for ${service} saved. ${counted(n, "model")} ${n === 1 ? "is" : "are"} ready.`,
    connected: (n: number) => `Ollama is set up. ${counted(n, "model")} ${n === 1 ? "is" : "are"} ready.`,
    noEditorModels: "VS Code offers no models to extensions yet. Sign in to Copilot, or install an extension that brings models.",
    removeTitle: "Remove which key?",
    removed: (service: string) => `Key for ${service} removed.`,
    elsewhere: "Keys in the environment, or stored by another program, stay.",
} as const;

/** What stands beside a service in the list. */
export const SERVICES: Readonly<Record<string, { title: string; models: string; site: string; example: string }>> = {
    anthropic: { title: "Anthropic", models: "Claude models", site: "console.anthropic.com", example: "sk-ant-…" },
    openai: { title: "OpenAI", models: "GPT models", site: "platform.openai.com", example: "sk-…" },
    gemini: { title: "Google", models: "Gemini models", site: "aistudio.google.com", example: "AIza…" },
    ollama: { title: "On this computer (Ollama)", models: "", site: "", example: "" },
};

export const MODELS = {
    title: "Model for this conversation",
    search: "Search models",
    ready: "ready to use",
    fromEditor: "from VS Code",
    needsKey: "needs a key",
    addKeyFirst: "add a key first",
    offline: "Quotes only",
    offlineDetail: "No model: exact quotes from your files",
    services: "Keys and services…",
    inUse: "in use",
    reads: (tokens: number) => `reads ${short(tokens)} tokens`,
    shorter: "shorter: older messages will be summarized",
} as const;

export const STATUS = {
    name: "Palimpsest",
    tooltip: (used: number, budget: number, title: string) => `Palimpsest: ${short(used)} of ${short(budget)} tokens in ${title}`,
    newConversation: "a new conversation",
} as const;

export const TOASTS = {
    asks: (title: string) => `Palimpsest asks: ${title}`,
    show: "Show",
    stale: (n: number, file: string) => `${counted(n, "fact")} about ${file} may be out of date.`,
    review: "Review",
    notNow: "Not now",
    open: "Open",
    answeredElsewhere: "The question was answered elsewhere.",
} as const;

/** The MCP servers, in a list. */
export const MCP = {
    title: "MCP servers",
    none: "No MCP server is configured. Name one in config.toml, as [mcp.NAME] with a command or a url.",
    offers: (tools: number, resources: number, prompts: number) => `${counted(tools, "tool")}, ${counted(resources, "resource")}, ${counted(prompts, "prompt")}`,
    asks: (origin: string, name: string) => `${origin} of this folder would start the MCP server ${name}. Allow exactly this?`,
    allow: "Allow",
    refuse: "Refuse",
    restart: "Restart",
} as const;

/** Code of an answer that is put into a file. */
export const CHANGES = {
    edited: (path: string) => `${path}: before and after the edit`,
    edits: (n: number) => (n === 1 ? "The edit, and what was changed since" : "Changes of an answer"),
    title: (name: string) => `${name}: as it is, and changed`,
    which: "Which file is this code for?",
    whichOf: (path: string) => `Which file is ${path}?`,
    search: "Search files",
    activeFile: "the file you look at",
    otherFile: "Another file…",
    choose: "Choose",
    newFile: (path: string) => `A new file ${path}`,
    noFolder: "First open the folder that this code is for.",
    outside: (path: string) => `${path} is not in this folder, so nothing was changed.`,
    none: "There is no change to accept here. Choose “Review as a change” in the answer again.",
    outdated: (name: string) => `${name} has changed since. Nothing was changed; choose “Review as a change” in the answer again.`,
    failed: (name: string) => `${name} could not be changed. It may be read-only.`,
    removes: (names: readonly string[], name: string) => `This change takes ${names.slice(0, 5).join(", ")}${names.length > 5 ? ` and ${names.length - 5} more` : ""} out of ${name}.`,
    refused: {
        nothing: () => "This code only says that something stays as it is. There is nothing to change.",
        noFile: (name: string) => `This code leaves parts out, and there is no ${name} to take them from. Ask for the whole file.`,
        notFound: (name: string) => `The place of this code in ${name} was not found. Insert it where it belongs, or ask for the whole file.`,
        ambiguous: (name: string) => `This code fits in more than one place of ${name}. Ask for it with the lines around it, or insert it yourself.`,
        same: (name: string) => `${name} says this already. There is nothing to change.`,
    },
} as const;

/** What the panel asks of the editor around it. */
export const DESK = {
    nowhereToInsert: "First open the file to insert into.",
    deadLink: "This link leads to no page and no file.",
    openOutside: (path: string) => `Open the file ${path}, which is not in this folder?`,
    openPage: (address: string) => `Open ${address} in your browser?`,
    open: "Open",
    outside: "This place is not in an open folder.",
    noFile: (path: string) => `There is no file ${path} in this folder.`,
    severalLines: "This has several lines. A terminal may run them at once. Go on?",
    goOn: "Go on",
    controlCharacters: "This has characters that control a terminal. Nothing was put there.",
} as const;

/** `@palimpsest` in VS Code's own chat, and the model that other extensions can ask. */
export const PARTICIPANT = {
    asked: "Asked by another extension",
    model: (name: string) => `Palimpsest (${name})`,
    justification: "You chose this model for a conversation with Palimpsest.",
    failed: "The model could not be used, or did not answer.",
} as const;

/** The tree of facts, and what is asked about one. */
export const FACTS = {
    add: "Add a fact",
    ofFile: "What is true of this file?",
    ofLines: "What is true of the selected lines?",
    noFile: "First open the file that the fact is about, and select its lines.",
    forgetQuestion: (isShared: boolean) => `Forget this fact? No model will get it any more.${isShared ? " Your team forgets it too, for good." : ""}`,
    forget: "Forget",
    forgotten: (content: string) => `Forgotten: ${content}`,
    restore: "Restore",
    author: (name: string) => `Noted by ${name}, in another copy of this folder`,
    stale: "To check: ",
    openPlace: "Open the place",
    none: "No facts yet.",
    unknown: "This server keeps no facts.",
    unread: "The facts could not be read.",
} as const;

/** A row of that tree. */
export const FACT_ROWS = {
    conditions: { fresh: "", moved: "has moved", changed: "has changed", missing: "is gone" },
    kinds: { entity: "what something is", decision: "decision", constraint: "rule", codeState: "how the code is", pinned: "pinned" },
    notedBy: (kind: string, name: string) => `${kind}, noted by ${name}`,
} as const;
