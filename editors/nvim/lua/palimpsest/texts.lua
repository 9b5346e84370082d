--- Every text that a user reads, in the words of the panel of VS Code where both say the same. What `tell` says has
--- "Palimpsest: " in front.
local M = {}

M.nothing = {
  conversation = "There is no conversation yet. Send a message first.",
  asked = "Nothing has been asked in this conversation yet.",
  answer = "No answer is coming.",
  broken = "No answer has broken off.",
  summary = "Put the cursor on a summarized message first.",
  listed = "Nothing to list (%s).",
  file = "This buffer has no file. Name one: :Palimpsest attach FILE",
  problems = "This buffer has no problems to attach.",
  folder = "This file is in no workspace folder. Go to its folder with :cd.",
  facts = "This server keeps no facts; a newer one does.",
}
M.still_answering = "An answer is still coming."
M.wait_or_stop = "An answer is still coming: wait, or stop it."

M.empty = {
  title = "Ask about this folder",
  kept = "Every message is kept. When a conversation gets long, older parts are summarized, "
    .. "and you can always read the originals.",
  folder = "Folder: %s",
  model = "Model: %s by %s",
  no_model = "No model is set up yet. Until then you get exact quotes from your files, "
    .. "and nothing leaves this computer.",
  add_key = { "  :Palimpsest key    adds a key", "  :Palimpsest model  chooses a model" },
  try = "Try one (Enter takes it into your message):",
  starters = {
    project = "What does this project do?",
    file = "Explain %s.",
    problems = "Help with the %d problems in %s.",
    first = "Where would I start reading?",
    tests = "How do I run the tests?",
  },
  more = {
    "  @                  adds a file",
    "  /                  runs a command",
    "  :Palimpsest pick   earlier conversations",
    "  :help palimpsest   tells the rest",
  },
}

M.bar = {
  --- Above the input, while nothing else is to be said there.
  message = "@ adds context · / runs a command",
  message_narrow = "@ file · / command",
  send_key = "%s sends · ",
  gone = "The server ended; it is started again",
  answering = "Answering…",
  sending = "Sending…",
  stop_key = " · %s stops",
  asks = "Waits for you · :Palimpsest decide",
  summarizing = "Summarizing %d of %d messages…",
  ended = {
    cancelled = "Stopped · :Palimpsest continue",
    errored = "Broke off · :Palimpsest continue",
    interrupted = "Broke off · :Palimpsest continue",
  },
}
--- For the status line of a user, which has little room.
M.status = {
  gone = "server ended",
  answering = "answering…",
  sending = "sending…",
  asks = "waits for you",
  ended = { cancelled = "stopped", errored = "broke off", interrupted = "broke off" },
}

M.buffers = { chat = "chat", message = "message" }
M.headers = { user = "You", assistant = "Answer", note = "Palimpsest", to = "%s to %s" }
M.endings = {
  cancelled = "You stopped this answer. `:Palimpsest continue` goes on with it.",
  errored = "This answer broke off. `:Palimpsest continue` goes on with it, `:Palimpsest retry` begins it again.",
  interrupted = "Palimpsest was closed during this answer. `:Palimpsest continue` goes on with it, "
    .. "`:Palimpsest retry` begins it again.",
}
M.folded = {
  deleted = "(deleted for good)",
  all_deleted = "▸ %s deleted for good",
  hidden = "▸ %s taken back; no model sees them",
  summarized = "▸ %%s summarized (summary %d)",
}
M.full = "The context is full: text found in earlier messages was not added to yours."

-- While it runs, and when it is done.
M.verbs = {
  read_file = { "Reading", "Read" },
  list_files = { "Listing", "Listed" },
  search_files = { "Searching", "Searched" },
  propose_edit = { "Wants to change", "Changed" },
  run_command = { "Running", "Ran" },
  recall = { "Recalling", "Recalled" },
  tool_output = { "Recalling", "Recalled" },
  facts = { "Looking up facts", "Looked up facts" },
}
M.used = { "Using %s", "Used %s" }
M.tool = {
  some = "tool",
  failed = "failed",
  waits = "not run",
  arguments = "%s, called with:",
  result = "result:",
  written = "written so far:",
  exit_status = "exit status %s",
  --- A pattern: how the server says that a program has ended.
  exit_pattern = "%[Exit status (%d+)%.[^%]]*%]$",
}
M.thought = "Thought · %s"
M.attached = "attached: %s"
M.attached_size = "%s (%d tokens)"
M.problems = "problems"

M.terminal = {
  description = "What the terminal shows.",
  none = "No terminal is open. Open one with :terminal.",
  no_tool = "Neovim has no tool %s.",
}

M.decision = {
  -- What yes and no are, by tool.
  words = {
    run_command = { "Run", "Don’t run" },
    propose_edit = { "Accept", "Reject" },
    other = { "Allow once", "Not now" },
  },
  all_edits = "Accept all edits of this answer",
  always = "Always allow %s",
  never = "Never allow %s",
  leave = "Decide later",
  go = " :Palimpsest decide ",
  one_of = " :Palimpsest decide · 1 of %d ",
  asks = "%s  :Palimpsest decide",
  none = "Nothing waits for your decision.",
  elsewhere = "The question was answered elsewhere, or is no longer asked.",
  gone = "The server ended before you had answered, so nothing was done.",
  kept = { prompt = "Ask again about which?", always = "always allowed", never = "never allowed" },
  none_kept = "No answer about a tool is kept in this folder.",
  withdrawn = "You will be asked again.",
}

M.models = {
  prompt = "Model for this conversation",
  ready_group = "ready to use",
  key_group = "needs a key",
  offline = "Quotes only · exact quotes from your files",
  ready = "%s · %s · reads %s tokens",
  needs_key = "%s · %s",
  current = " · in use",
}

M.key = {
  service = "Which service?",
  is_set = "%s · key is set",
  no_key = "%s",
  action = "%s has a key",
  change = "Change key…",
  remove = "Remove key",
  prompt = "Key for %s (kept on this computer, sent to %s only): ",
  checking = "Asking %s about the key…",
  refused = "%s did not accept the key. It may be mistyped or revoked. %s",
  unchecked = "The key for %s could not be checked. %s",
  keep = "Keep it anyway",
  drop = "Do not keep it",
  none = "No service takes a key.",
  change_hint = "`:Palimpsest key` changes the key, `:Palimpsest model` takes another model.",
}

M.conversations = {
  prompt = "Conversations",
  none = "There is no conversation in this folder yet.",
  untitled = "Untitled",
  new = "New conversation",
  answering = " · answering",
  draft = " · draft: “%s”",
  archived = " · archived",
  today = "Today",
  yesterday = "Yesterday",
  last_week = "Last week",
  found = "Messages: %s",
}

M.broken = {
  prompt = "Answers that broke off",
  line = "%s  %s, %s: …%s",
  action = "What should become of this answer?",
  actions = {
    continue = "Continue: go on from where it stopped",
    keep = "Keep as it is",
    discard = "Discard the answer; it can still be read",
    retry = "Try again: take it back and answer the same message",
  },
}

M.facts = {
  title = "Facts",
  about = "Facts: %s",
  stale = "may be out of date: ",
  --- A pattern: what the server says in front of a fact that may be out of date.
  question_before = " Is this still true%? ",
  to_check = "%d to check",
  author = " (noted by %s)",
}

M.edits = {
  prompt = "Edits of files, the newest first",
  none = "No edit of a file is kept of this conversation.",
  states = { applied = "applied", takenBack = "taken back", unknown = "not known" },
  outcomes = {
    takenBack = "taken back, not saved; `u` in the file brings the edit again.%s",
    asBefore = "there was nothing to take back.%s",
    refused = "left as it is. %s",
    unknown = "%s",
  },
  compare = "Compare: before, after, now",
  take_back = "Take back",
  leave = "Leave",
  last = "the edits of the last turn that made some",
  question = "Take back %s?",
  offer = "What will be hidden made %s of files.",
  both = "Take these edits back as well",
  only = "Leave the files as they are",
  before = "before the edit · %s",
  after = "after the edit · %s",
  now = "now · %s",
  newer = "The buffer has changed meanwhile.",
  locked = "The buffer is locked against changes ('nomodifiable').",
}

M.sharing = {
  states = {
    current = "shared",
    behind = "shared, behind",
    apart = "shared, not sent yet",
    detached = "no longer shared",
  },
  with = " with ",
  you_write = "You are %s on another machine",
  writes = "%s is %s",
  away = "the hub is away",
  refused = "the hub says no",
  unsent = "%s, %d not sent",
  you = "you",
  messages = { one = "message %s", many = "messages %s", more = "%s and %d more" },
  plan = {
    title = "Sharing with the team %s:",
    readers = "- %s will read it, and what is said later.",
    size = "- %s, %s%s.",
    results = ", of which %s are results of tools",
    no_results = "; the results of tools stay here",
    removed = "- Taken out first: %s in %s.",
    files = "- Results of tools may hold text of: %s.",
    copy = "- A copy is shared. This conversation stays as it is, and yours alone.",
  },
  question = "Share this conversation?",
  share = "Share",
  share_copy = "Share a copy",
  cancel = "Cancel",
  shared = "Shared with the team %s.",
  stop_question = "Others keep what they have taken in. Stop sharing?",
  stop = "Stop sharing",
  stopped = "This conversation is shared no longer.",
  none = "The team %s shares no conversation yet.",
  pick = "Shared with %s",
  here = " · here",
  readers = "Who reads this conversation:",
  machines = "Where it is:",
  this_machine = "this machine",
  machine = "a machine of %s",
  has_all = "has everything",
  lacks = "lacks the newest %s",
  looks = ", looks at it now",
  go_on = "Go on with this message?",
  fork = "Go on in a fork",
  not_now = "Not now",
  moved = "Others wrote “%s” while the hub was away. Your messages from then on are in “%s” (:Palimpsest pick).",
}

M.server = {
  ended = "The server ended.",
  ended_at_start = "The server ended during its start. :checkhealth palimpsest may show the reason.",
  not_started = "The server could not be started. :checkhealth palimpsest may show the reason.",
  not_running = "The server is not running.",
  no_answer = "The server did not answer: %s",
  keeps_ending = "The server keeps ending. :checkhealth palimpsest may show why, :Palimpsest restart tries again.",
  no_executable = "The server cannot be started: there is no executable %s. "
    .. "Install Palimpsest, or name it in setup{ cmd = … }.",
  by_function = "(a function)",
}

M.command = {
  unknown = "There is no :Palimpsest %s. There are: %s.",
  usage = "Write :Palimpsest %s %s.",
}

M.keys = {
  prefix = "Palimpsest: ",
  send = "send the message",
  stop = "stop the answer",
  close = "close the chat",
  take = "take the line under the cursor into the message",
}

M.config = {
  unknown = "%s: there is no such option. There are: %s.",
  one_of = "one of %s",
  positive = "a number above 0",
  count = "a whole number of at least 0",
  at_least_one = "a whole number of at least 1",
  key = "keys, or false",
  strings = "a list of strings",
  two_keys = "keys in normal mode and keys in insert mode, or false",
}

M.health = {
  editor = "Neovim",
  version = "Neovim %s",
  too_old = "Neovim %s is too old.",
  newer = "Install Neovim 0.11 or newer.",
  parser = "The tree-sitter parser %s is installed.",
  no_parser = "The tree-sitter parser %s is missing: answers are highlighted by the old syntax file.",
  parser_hint = "Neovim includes it; check that its parser folder is in 'runtimepath'.",
  server = "Server",
  install = "Install Palimpsest so that its command is in PATH.",
  name_it = 'Or name it: require("palimpsest").setup({ cmd = { "/path/to/palimpsest", "serve", "--stdio" } })',
  by_function = "The server is started by a function.",
  found = "%s (%s)",
  no_version = "%s did not print its version.",
  run_it = "Run it in a terminal to see its output.",
  none_runs = "No server runs for %s.",
  starts = ":Palimpsest starts it.",
  silent = "The server was started and has not answered yet.",
  look_at = "Look at %s",
  runs = "The server %s %s runs for %s.",
  sees = "It sees %s.",
  open_file = "open file",
  sees_none = "It sees no open file yet. It sees the folder's files once they are opened.",
  foreign = "The started program does not speak Palimpsest's protocol.",
  look_at_cmd = "Look at `cmd` in your settings.",
  model = "Model",
  no_status = "The server did not report its model's status: %s",
  model_ready = "%s by %s, a window of %d tokens.",
  model_unusable = "%s by %s cannot be used.",
  no_model = "No model is configured: answers are quotes from your files and the conversation.",
  add_key = ":Palimpsest key adds a key; so does `palimpsest login PROVIDER` in a terminal.",
  choose = ":Palimpsest key adds a key, :Palimpsest model chooses a model.",
  by_bytes = "No tokenizer could be loaded: tokens are counted by bytes.",
  failed = "Its newest turn in this folder failed: %s.",
  mcp = "MCP servers",
  mcp_none = "None is configured.",
  mcp_ready = "%s: %d tools, %d resources, %d prompts",
  mcp_rests = "%s is %s. %s",
  mcp_look = "/mcp in a chat shows what it is and how to go on.",
}

return M
