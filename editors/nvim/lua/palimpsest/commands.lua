--- `:Palimpsest`, its sub-commands and their completion.
local client = require("palimpsest.client")
local complain = require("palimpsest.complain")
local methods = require("palimpsest.protocol").methods

local M = {}

---@class palimpsest.Call What `nvim_create_user_command` passes, as far as it counts here.
---@field fargs string[]
---@field range? integer
---@field line1? integer
---@field line2? integer

---@class palimpsest.Command
---@field about string
---@field argument? string How it is written; in brackets where it may be left out.
---@field run fun(chat: palimpsest.Chat, argument: string, call: palimpsest.Call)
---@field complete? fun(lead: string): string[]

---@param chat palimpsest.Chat
---@return boolean
local function has_conversation(chat)
  if not chat.conversation_id then
    vim.notify("Palimpsest: there is no conversation yet. Send a message first.")
  end
  return chat.conversation_id ~= nil
end

--- Asks the server about the shown conversation, once the panel is open.
---@param chat palimpsest.Chat
---@param method string
---@param params table
---@param done fun(result: any)
local function about_conversation(chat, method, params, done)
  if has_conversation(chat) then
    params.conversationId = chat.conversation_id
    client.request(chat.root, method, params, function(err, result)
      if err then
        complain(err)
      else
        done(result)
      end
    end)
  end
end

--- The summary whose messages the cursor is in.
---@param chat palimpsest.Chat
---@return integer|nil
local function summary_under_cursor(chat)
  local entry = chat:entry_under_cursor()
  for _, summary in ipairs(entry and entry.id and chat.summaries or {}) do
    if entry.id >= summary.first and entry.id < summary.last then
      return summary.id
    end
  end
end

--- Has other summaries, or others of the messages, stand in the context; nothing is deleted.
---@param chat palimpsest.Chat
---@param method string
---@param params table
local function change_context(chat, method, params)
  about_conversation(chat, method, params, function(result)
    chat:note(("%s %d → %d tokens."):format(result.reason, result.tokensBefore, result.tokensAfter))
    chat:reload()
  end)
end

---@param method string
local function on_summary(method)
  return function(chat, argument)
    local id = tonumber(argument) or summary_under_cursor(chat)
    if not id then
      vim.notify("Palimpsest: put the cursor on a summarized message, or name the summary.")
      return
    end
    change_context(chat, method, { summaryId = id })
  end
end

---@param method string
local function on_changes(method)
  return function(chat)
    change_context(chat, method, {})
  end
end

---@type table<string, palimpsest.Command>
M.commands = {
  open = {
    about = "Open the chat, or go to its input.",
    run = function(chat)
      chat:open()
    end,
  },
  close = {
    about = "Close the chat's windows. An answer continues in the background.",
    run = function(chat)
      chat:close()
    end,
  },
  toggle = {
    about = "Open the chat, or close it.",
    run = function(chat)
      chat:toggle()
    end,
  },
  new = {
    about = "Begin another conversation with the next message.",
    run = function(chat)
      chat:open(function()
        chat:show(nil)
      end)
    end,
  },
  pick = {
    about = "Choose a conversation.",
    run = function(chat)
      require("palimpsest.picker").conversations(chat)
    end,
  },
  conversations = {
    about = "List the folder's conversations in the quickfix list.",
    run = function(chat)
      require("palimpsest.quickfix").conversations(chat)
    end,
  },
  search = {
    about = "List the messages that contain a text in the quickfix list.",
    argument = "TEXT",
    run = function(chat, argument)
      require("palimpsest.quickfix").search(chat, argument)
    end,
  },
  facts = {
    about = "List the folder's facts in the quickfix list.",
    argument = "[TEXT]",
    run = function(chat, argument)
      require("palimpsest.quickfix").facts(chat, argument)
    end,
  },
  ask = {
    about = "Send a message.",
    argument = "TEXT",
    run = function(chat, argument)
      if chat:is_answering() then
        vim.notify("Palimpsest: an answer is still coming.")
        return
      end
      chat:open(function()
        chat:say(argument)
      end)
    end,
  },
  send = {
    about = "Send the text in the chat's input.",
    run = function(chat)
      if chat.input then
        chat:send()
      end
    end,
  },
  attach = {
    about = "Attach a file, this file, or the lines of a range to the next message.",
    argument = "[FILE]",
    complete = function(lead)
      return vim.fn.getcompletion(lead, "file")
    end,
    run = function(chat, argument, call)
      require("palimpsest.from_buffer").file(chat, argument, call)
    end,
  },
  diagnostics = {
    about = "Attach this buffer's diagnostics to the next message.",
    run = function(chat)
      require("palimpsest.from_buffer").diagnostics(chat)
    end,
  },
  stop = {
    about = "Stop the answer; the text that has arrived is kept.",
    run = function(chat)
      chat:stop()
    end,
  },
  retry = {
    about = "Answer the last message again.",
    run = function(chat)
      chat:go_on(methods.TurnRetryRequest)
    end,
  },
  continue = {
    about = "Continue an answer that broke off or was stopped.",
    run = function(chat)
      chat:go_on(methods.TurnContinueRequest)
    end,
  },
  recover = {
    about = "List the answers that broke off, and continue, keep, discard or retry one.",
    run = function(chat)
      require("palimpsest.picker").recovery(chat)
    end,
  },
  fork = {
    about = "Go on from the message under the cursor, or the newest, in another conversation.",
    run = function(chat)
      local entry = chat:entry_under_cursor()
      about_conversation(chat, methods.ConversationForkRequest, { messageId = entry and entry.id }, function(info)
        chat:show(info.conversationId)
      end)
    end,
  },
  rollback = {
    about = "Hide the messages from the one under the cursor on, or your newest and its answer. They stay readable.",
    run = function(chat)
      local entry = chat:entry_under_cursor()
      about_conversation(chat, methods.ConversationRollbackRequest, { messageId = entry and entry.id }, function(result)
        if chat.input:text() == "" then
          chat.input:take_draft(result.draft)
        end
        chat:reload()
      end)
    end,
  },
  rename = {
    about = "Name the conversation.",
    argument = "TITLE",
    run = function(chat, argument)
      about_conversation(chat, methods.ConversationRenameRequest, { title = argument }, function()
        chat:reload()
      end)
    end,
  },
  model = {
    about = "Choose a model, or switch to the named one.",
    argument = "[NAME]",
    run = function(chat, argument)
      if argument ~= "" then
        chat:run_command("/model " .. argument)
      else
        require("palimpsest.picker").models(chat, function(name)
          chat:run_command("/model " .. name)
        end)
      end
    end,
  },
  key = {
    about = "Add, change or remove the key of a model service.",
    run = function(chat)
      require("palimpsest.key").set(chat.root, nil, function()
        chat:ask_model()
      end)
    end,
  },
  decide = {
    about = "Go to the question that waits for your decision.",
    run = function()
      require("palimpsest.approvals").go()
    end,
  },
  summarize = {
    about = "Summarize older messages now.",
    run = function(chat)
      chat:open()
      about_conversation(chat, methods.SummarizeRequest, {}, function(result)
        chat:note(result.reason)
        chat:reload()
      end)
    end,
  },
  expand = {
    about = "Put the messages behind the summary under the cursor back into the context.",
    argument = "[SUMMARY]",
    run = on_summary(methods.SummaryExpandRequest),
  },
  regenerate = {
    about = "Write the summary under the cursor again.",
    argument = "[SUMMARY]",
    run = on_summary(methods.SummaryRegenerateRequest),
  },
  undo = {
    about = "Undo the last change of summaries; again, the one before it.",
    run = on_changes(methods.SummaryUndoRequest),
  },
  redo = {
    about = "Redo the last undone change of summaries.",
    run = on_changes(methods.SummaryRedoRequest),
  },
  share = {
    about = "Share the conversation with your team, once you have read what that means.",
    run = function(chat)
      if has_conversation(chat) then
        require("palimpsest.sharing").share(chat)
      end
    end,
  },
  unshare = {
    about = "Stop sharing the conversation. Others keep what they have taken in.",
    run = function(chat)
      if has_conversation(chat) then
        require("palimpsest.sharing").unshare(chat)
      end
    end,
  },
  shared = {
    about = "Open a conversation that your team shares.",
    run = function(chat)
      require("palimpsest.sharing").pick(chat)
    end,
  },
  readers = {
    about = "Show who reads a shared conversation, and how far their machines have come.",
    run = function(chat)
      if has_conversation(chat) then
        require("palimpsest.sharing").readers(chat)
      end
    end,
  },
  approvals = {
    about = "List the kept answers about tools, and withdraw one.",
    run = function(chat)
      require("palimpsest.picker").approvals(chat)
    end,
  },
  reload = {
    about = "Read the conversation again.",
    run = function(chat)
      if has_conversation(chat) then
        chat:reload()
      end
    end,
  },
  restart = {
    about = "Stop the server and start it again.",
    run = function(chat)
      client.restart(chat.root)
    end,
  },
}

---@return string[]
local function names()
  local list = vim.tbl_keys(M.commands)
  table.sort(list)
  return list
end

---@param call palimpsest.Call
function M.run(call)
  local name = call.fargs[1] or "open"
  local command = M.commands[name]
  if not command then
    vim.notify(
      ("Palimpsest: there is no :Palimpsest %s. There are: %s."):format(name, table.concat(names(), ", ")),
      vim.log.levels.ERROR
    )
    return
  end
  local argument = table.concat(call.fargs, " ", 2)
  if command.argument and command.argument:sub(1, 1) ~= "[" and argument == "" then
    vim.notify(("Palimpsest: write :Palimpsest %s %s."):format(name, command.argument), vim.log.levels.ERROR)
    return
  end
  local root = client.root()
  if not root then
    vim.notify("Palimpsest: this file is in no workspace folder. Go to its folder with :cd.", vim.log.levels.ERROR)
    return
  end
  command.run(require("palimpsest.chat").get(root), argument, call)
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local before = line:match("Palimpsest!?%s+(.*)$") or ""
  local name, rest = before:match("^(%S+)%s+(.*)$")
  if not name then
    return vim.tbl_filter(function(each)
      return vim.startswith(each, lead)
    end, names())
  end
  local command = M.commands[name]
  return command and command.complete and command.complete(rest) or {}
end

return M
