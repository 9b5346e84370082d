--- `:Palimpsest`, its sub-commands and their completion.
local client = require("palimpsest.client")
local tell = require("palimpsest.tell")
local methods = require("palimpsest.protocol").methods
local texts = require("palimpsest.texts")

local M = {}

---@class palimpsest.Call What `nvim_create_user_command` passes, as far as it counts here.
---@field fargs string[]
---@field range? integer
---@field line1? integer
---@field line2? integer

---@class palimpsest.Command
---@field argument? string How it is written; in brackets where it may be left out.
---@field run fun(chat: palimpsest.Chat, argument: string, call: palimpsest.Call)
---@field complete? fun(lead: string): string[]

---@param chat palimpsest.Chat
---@return boolean
local function has_conversation(chat)
  if not chat.conversation_id then
    tell.info(texts.nothing.conversation)
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
        tell.failed(err)
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
      tell.info(texts.nothing.summary)
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
    run = function(chat)
      chat:open()
    end,
  },
  close = {
    run = function(chat)
      chat:close()
    end,
  },
  toggle = {
    run = function(chat)
      chat:toggle()
    end,
  },
  new = {
    run = function(chat)
      chat:open(function()
        chat:show(nil)
      end)
    end,
  },
  pick = {
    run = function(chat)
      require("palimpsest.picker").conversations(chat)
    end,
  },
  conversations = {
    run = function(chat)
      require("palimpsest.quickfix").conversations(chat)
    end,
  },
  search = {
    argument = "TEXT",
    run = function(chat, argument)
      require("palimpsest.quickfix").search(chat, argument)
    end,
  },
  facts = {
    argument = "[TEXT]",
    run = function(chat, argument)
      require("palimpsest.quickfix").facts(chat, argument)
    end,
  },
  ask = {
    argument = "TEXT",
    run = function(chat, argument, call)
      if chat:is_answering() then
        tell.info(texts.still_answering)
        return
      end
      local lines = (call.range or 0) > 0 and { require("palimpsest.from_buffer").range(call) } or nil
      chat:open(function()
        chat:say(argument, lines)
      end)
    end,
  },
  send = {
    run = function(chat)
      if chat.input then
        chat:send()
      end
    end,
  },
  attach = {
    argument = "[FILE]",
    complete = function(lead)
      return vim.fn.getcompletion(lead, "file")
    end,
    run = function(chat, argument, call)
      require("palimpsest.from_buffer").file(chat, argument, call)
    end,
  },
  diagnostics = {
    run = function(chat)
      require("palimpsest.from_buffer").diagnostics(chat)
    end,
  },
  stop = {
    run = function(chat)
      chat:stop()
    end,
  },
  retry = {
    run = function(chat)
      chat:retry()
    end,
  },
  continue = {
    run = function(chat)
      chat:go_on(methods.TurnContinueRequest)
    end,
  },
  recover = {
    run = function(chat)
      require("palimpsest.picker").recovery(chat)
    end,
  },
  fork = {
    run = function(chat)
      local entry = chat:entry_under_cursor()
      about_conversation(chat, methods.ConversationForkRequest, { messageId = entry and entry.id }, function(info)
        chat:show(info.conversationId)
      end)
    end,
  },
  rollback = {
    run = function(chat)
      local entry = chat:entry_under_cursor()
      local params = { messageId = entry and entry.id }
      if not has_conversation(chat) then
        return
      end
      require("palimpsest.edits").offer(chat, chat:turns_from(params.messageId), function(takes_back)
        params.takeBackChanges = takes_back
        about_conversation(chat, methods.ConversationRollbackRequest, params, function(result)
          if chat.input:text() == "" then
            chat.input:take_draft(result.draft)
          end
          chat:reload()
          require("palimpsest.edits").note(chat, result.files)
        end)
      end)
    end,
  },
  changes = {
    run = function(chat)
      if has_conversation(chat) then
        require("palimpsest.edits").pick(chat)
      end
    end,
  },
  revert = {
    argument = "[NUMBER|PATH|all]",
    run = function(chat, argument)
      if has_conversation(chat) then
        require("palimpsest.edits").revert(chat, argument)
      end
    end,
  },
  rename = {
    argument = "TITLE",
    run = function(chat, argument)
      about_conversation(chat, methods.ConversationRenameRequest, { title = argument }, function()
        chat:reload()
      end)
    end,
  },
  model = {
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
    run = function(chat)
      require("palimpsest.key").set(chat.root, nil, function()
        chat:ask_model()
      end)
    end,
  },
  decide = {
    run = function()
      require("palimpsest.approvals").go()
    end,
  },
  summarize = {
    run = function(chat)
      chat:open()
      about_conversation(chat, methods.SummarizeRequest, {}, function(result)
        chat:note(result.reason)
        chat:reload()
      end)
    end,
  },
  expand = {
    argument = "[SUMMARY]",
    run = on_summary(methods.SummaryExpandRequest),
  },
  regenerate = {
    argument = "[SUMMARY]",
    run = on_summary(methods.SummaryRegenerateRequest),
  },
  undo = {
    run = on_changes(methods.SummaryUndoRequest),
  },
  redo = {
    run = on_changes(methods.SummaryRedoRequest),
  },
  share = {
    run = function(chat)
      if has_conversation(chat) then
        require("palimpsest.sharing").share(chat)
      end
    end,
  },
  unshare = {
    run = function(chat)
      if has_conversation(chat) then
        require("palimpsest.sharing").unshare(chat)
      end
    end,
  },
  shared = {
    run = function(chat)
      require("palimpsest.sharing").pick(chat)
    end,
  },
  readers = {
    run = function(chat)
      if has_conversation(chat) then
        require("palimpsest.sharing").readers(chat)
      end
    end,
  },
  approvals = {
    run = function(chat)
      require("palimpsest.picker").approvals(chat)
    end,
  },
  mcp = {
    run = function(chat)
      chat:run_command("/mcp")
    end,
  },
  reload = {
    run = function(chat)
      if has_conversation(chat) then
        chat:reload()
      end
    end,
  },
  restart = {
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
    tell.error(texts.command.unknown:format(name, table.concat(names(), ", ")))
    return
  end
  local argument = table.concat(call.fargs, " ", 2)
  if command.argument and command.argument:sub(1, 1) ~= "[" and argument == "" then
    tell.error(texts.command.usage:format(name, command.argument))
    return
  end
  local root = client.root()
  if not root then
    tell.error(texts.nothing.folder)
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
