--- The chat of a workspace folder: one conversation at a time, drawn from what the server says.
local client = require("palimpsest.client")
local input = require("palimpsest.chat.input")
local methods = require("palimpsest.protocol").methods
local statusline = require("palimpsest.statusline")
local stream = require("palimpsest.chat.stream")
local transcript = require("palimpsest.chat.transcript")
local view = require("palimpsest.chat.view")
local window = require("palimpsest.chat.window")

local M = {}

local PAGE = 1000
local OVERLAP = 100

---@class palimpsest.CoveredRange
---@field id integer The summary.
---@field first integer
---@field last integer One more than the last message.

---@class palimpsest.Chat
---@field root string
---@field folder string Its URI.
---@field conversation_id? string Nil: the next message begins one.
---@field info? palimpsest.ConversationInfo
---@field usage? palimpsest.ContextUsage
---@field messages palimpsest.MessageInfo[]
---@field summaries palimpsest.CoveredRange[]
---@field notes { after: integer, text: string }[] What was said here and is stored nowhere.
---@field stream? palimpsest.Stream
---@field view palimpsest.View
---@field input palimpsest.Input
---@field windows? palimpsest.Windows
---@field activity? string
---@field stale_facts? integer
---@field private stored palimpsest.Entry[]
---@field private generation integer Grows when another conversation is shown: answers about the one before are late.
---@field private reading? "once"|"again"|"all"
local Chat = {}
Chat.__index = Chat

---@type table<string, palimpsest.Chat> By folder.
local chats = {}
---@type string|nil The folder whose chat was used last.
local last_root

---@param err lsp.ResponseError
local function complain(err)
  vim.notify("Palimpsest: " .. err.message, vim.log.levels.ERROR)
end

---@param root string
---@return palimpsest.Chat
function M.get(root)
  local chat = chats[root]
  if not chat then
    chat = setmetatable({
      root = root,
      folder = vim.uri_from_fname(root),
      messages = {},
      summaries = {},
      notes = {},
      stored = {},
      generation = 0,
    }, Chat)
    chats[root] = chat
  end
  last_root = root
  return chat
end

--- The chat of the current buffer's folder, else the one used last, if there is one.
---@return palimpsest.Chat|nil
function M.current()
  local here = vim.b.palimpsest_root and chats[vim.b.palimpsest_root]
  return here or (last_root and chats[last_root])
end

-- ------------------------------------------------------------------------------------------------ the panel

function Chat:is_open()
  return window.is_open(self.windows)
end

--- Shows the panel; the first time, the folder's newest conversation.
---@param done? fun()
function Chat:open(done)
  last_root = self.root
  local is_first = self.view == nil
  if not self.view or not self.view:is_valid() then
    self.view = view.create(self.root)
    self:_map_keys()
  end
  if not self.input or not self.input:is_valid() then
    self.input = input.create(self)
    if not is_first and self.info then
      self.input:take_draft(self.info.draft)
    end
  end
  if self:is_open() then
    vim.api.nvim_set_current_win(self.windows.input)
  else
    window.close(self.windows)
    self.windows = window.open(self.view.buf, self.input.buf)
  end
  self:_draw(true)
  if is_first then
    self:_begin(done)
  elseif done then
    done()
  end
end

function Chat:close()
  if self.input then
    self.input:save_draft()
  end
  window.close(self.windows)
  self.windows = nil
end

function Chat:toggle()
  if self:is_open() then
    self:close()
  else
    self:open()
  end
end

---@private
function Chat:_map_keys()
  local keys = require("palimpsest.config").current.keys
  if keys.close then
    vim.keymap.set("n", keys.close, function()
      self:close()
    end, { buffer = self.view.buf, desc = "Palimpsest: close the chat" })
  end
  if keys.stop then
    vim.keymap.set("n", keys.stop, function()
      self:stop()
    end, { buffer = self.view.buf, desc = "Palimpsest: stop the answer" })
  end
end

---@private
---@param done? fun()
function Chat:_begin(done)
  client.request(self.root, methods.ConversationListRequest, { folder = self.folder }, function(err, result)
    if err then
      self:note(err.message)
    elseif not self.conversation_id and not self.stream then
      for _, info in ipairs(result.conversations) do
        if not info.isArchived then
          self:show(info.conversationId)
          break
        end
      end
    end
    if done then
      done()
    end
  end)
end

--- Goes on with a conversation, or with one that begins with the next message.
---@param conversation_id string|nil
function Chat:show(conversation_id)
  if self.input and self.input:is_valid() then
    self.input:save_draft()
    if self.conversation_id ~= conversation_id and self.conversation_id ~= nil then
      self.input:set_text("")
      self.input.saved = ""
    end
  end
  if self.stream then
    self.stream:leave()
  end
  self.generation = self.generation + 1
  self.conversation_id, self.info, self.usage, self.stream, self.activity = conversation_id, nil, nil, nil, nil
  self.messages, self.summaries, self.notes, self.reading = {}, {}, {}, nil
  self:_draw(true)
  if conversation_id then
    self:reload()
  end
end

--- Reads all of it again. A running answer is followed from the last piece that was read.
function Chat:reload()
  if self.stream and self.stream.turn_id then
    self.stream:leave()
    self.stream = nil
  end
  self:_read("all")
  self:_ask_usage()
end

-- ------------------------------------------------------------------------------------------------ drawing

--- What is going on, for a bar.
---@return string
function Chat:status()
  if self.is_gone then
    return "the server ended; it is started again"
  elseif self.activity then
    return self.activity
  elseif self.stream and self.stream.is_active then
    return self.stream.turn_id and "answering…" or "sending…"
  end
  return ""
end

---@private
---@return palimpsest.Entry[]
function Chat:_entries()
  local entries, last_id = vim.list_slice(self.stored), nil
  for _, note in ipairs(self.notes) do
    local at = #entries
    while at > 0 and (entries[at].id or note.after) > note.after do
      at = at - 1
    end
    note.entry = note.entry
      or { role = "note", parts = { { type = "text", text = note.text } }, has_header = true, after = note.after }
    table.insert(entries, at + 1, note.entry)
  end
  local running = self.stream
  if not running then
    return entries
  end
  for _, message in ipairs(self.messages) do
    last_id = message.id
  end
  if running.text and not (running.turn_id and last_id and last_id >= running.base_id) then
    table.insert(entries, { role = "user", parts = { { type = "text", text = running.text } }, has_header = true })
  end
  if #running.parts > 0 then
    local before = entries[#entries]
    local goes_on = before ~= nil and before.role == "assistant" and before.turn_id == running.turn_id
    table.insert(entries, {
      role = "assistant",
      parts = running.parts,
      has_header = not goes_on,
      turn_id = running.turn_id,
      is_running = true,
    })
  end
  return entries
end

---@private
---@param is_stored_changed? boolean Whether the messages may have changed, beside what is coming.
function Chat:_draw(is_stored_changed)
  if is_stored_changed then
    local running = self.stream
    local shown = self.messages
    if running and running.turn_id then
      shown = vim.tbl_filter(function(message)
        return message.turnId ~= running.turn_id or message.id <= running.base_id
      end, shown)
    end
    self.stored = transcript.entries_of(shown, self.summaries)
  end
  if self.view and self.view:is_valid() then
    self.view:show(self:_entries())
  end
  self:_draw_bar()
end

---@private
function Chat:_draw_bar()
  if self:is_open() then
    vim.api.nvim_set_option_value("winbar", statusline.winbar(self), { win = self.windows.transcript, scope = "local" })
  end
  vim.cmd.redrawstatus()
end

--- Says something in the transcript that is no message.
---@param said string Markdown.
function Chat:note(said)
  local newest = self.messages[#self.messages]
  table.insert(self.notes, { after = newest and newest.id or -1, text = said })
  self:_draw()
end

-- ------------------------------------------------------------------------------------------------ reading

---@private
---@param what "once"|"all" All of it, or the end.
function Chat:_read(what)
  if not self.conversation_id then
    return
  end
  if self.reading then
    self.reading = (what == "all" or self.reading == "all") and "all" or "again"
    return
  end
  self.reading = "once"
  local newest = self.messages[#self.messages]
  local start = what == "all" and 0 or math.max(0, (newest and newest.id or 0) - OVERLAP)
  local generation, first, found = self.generation, start, {}
  local function next_page()
    local params = { conversationId = self.conversation_id, start = first, limit = PAGE }
    client.request(self.root, methods.ConversationReadRequest, params, function(err, page)
      if generation ~= self.generation then
        return
      elseif err then
        self.reading = nil
        if not (err.data and err.data.kind == "server_gone") then
          complain(err)
        end
        return
      end
      vim.list_extend(found, page.messages)
      if page.next then
        first = page.next
        return next_page()
      end
      local again = self.reading
      self.reading = nil
      self:_take(start, found, page)
      if again == "again" or again == "all" then
        self:_read(again == "all" and "all" or "once")
      end
    end)
  end
  next_page()
end

---@private
---@param start integer
---@param found palimpsest.MessageInfo[]
---@param page palimpsest.ReadConversationResult
function Chat:_take(start, found, page)
  local is_first = self.info == nil
  self.messages = vim.list_extend(
    vim.tbl_filter(function(message)
      return message.id < start
    end, self.messages),
    found
  )
  self.info = page.conversation
  self.is_gone = false
  if self.stream and not self.stream.is_active then
    self.stream = nil
  end
  if page.running and not self.stream then
    self:_follow(page.running)
  end
  if is_first and self.input and self.input:is_valid() then
    self.input:take_draft(self.info.draft)
  end
  self:_draw(true)
end

---@private
---@param running palimpsest.RunningTurn
function Chat:_follow(running)
  local newest = self.messages[#self.messages]
  local parts = running.text ~= "" and { { type = "text", text = running.text } } or {}
  self.stream = stream.begin(
    self.root,
    methods.TurnAttachRequest,
    { turnId = running.turnId, afterSeq = running.seq },
    { base_id = newest and newest.id or -1, parts = parts, seq = running.seq, turn_id = running.turnId },
    self:_stream_events()
  )
end

---@private
function Chat:_ask_usage()
  local generation = self.generation
  client.request(self.root, methods.UsageRequest, { conversationId = self.conversation_id }, function(err, usage)
    if not err and generation == self.generation then
      self:_take_usage(usage)
      self:_ask_summaries()
    end
  end)
end

---@private
---@param usage palimpsest.ContextUsage
function Chat:_take_usage(usage)
  self.usage = usage
  self:_draw_bar()
end

---@private
function Chat:_ask_summaries()
  local generation = self.generation
  if not self.conversation_id or (self.usage and self.usage.summaryCount == 0 and #self.summaries == 0) then
    return
  end
  client.request(
    self.root,
    methods.PrepareContextRequest,
    { conversationId = self.conversation_id },
    function(err, plan)
      if err or generation ~= self.generation then
        return
      end
      self.summaries = {}
      for _, segment in ipairs(plan.segments) do
        if segment.type == "summary" and segment.messages and segment.summaryId then
          local range = segment.messages
          table.insert(self.summaries, { id = segment.summaryId, first = range.start, last = range["end"] })
        end
      end
      self:_draw(true)
    end
  )
end

-- ------------------------------------------------------------------------------------------------ turns

---@private
---@return palimpsest.StreamEvents
function Chat:_stream_events()
  local function is_mine(which)
    return self.stream == which
  end
  return {
    admitted = function(which, delta)
      if is_mine(which) then
        if self.conversation_id ~= delta.conversationId then
          self.conversation_id = delta.conversationId
        end
        self:_read("once")
        self:_draw_bar()
      end
    end,
    changed = function(which, appended)
      if not is_mine(which) then
        return
      end
      local last = self.view and self.view.entries[#self.view.entries]
      if appended and last and last.is_running and last.parts == which.parts then
        self.view:append(appended)
      else
        self:_draw()
      end
    end,
    ended = function(which, err, result)
      if is_mine(which) then
        self:_end_turn(which, err, result)
      end
    end,
  }
end

---@private
---@param which palimpsest.Stream
---@param err lsp.ResponseError|nil
---@param result palimpsest.ChatResult|nil
function Chat:_end_turn(which, err, result)
  if result then
    self.conversation_id = result.conversationId
    self:_take_usage(result.usage)
  elseif err and err.data and err.data.kind == "server_gone" and which.turn_id then
    -- What came stays to be seen until it can be read again.
    return self:_draw_bar()
  elseif err and not which.turn_id then
    self.stream = nil
    if which.text then
      self.input:give_back(which.text)
    end
    self:note(err.message)
    return self:_draw(true)
  elseif err then
    self:note(err.message)
  end
  self:_read("once")
  self:_draw_bar()
end

---@private
---@param method string
---@param params table
---@param said? string
function Chat:_run(method, params, said)
  local newest = self.messages[#self.messages]
  self.stream = stream.begin(
    self.root,
    method,
    params,
    { base_id = newest and newest.id or -1, text = said },
    self:_stream_events()
  )
  self:_draw(true)
end

---@return boolean
function Chat:is_answering()
  return self.stream ~= nil and self.stream.is_active
end

--- PROTOCOL.md, `command/run`: what is a command and what a message.
local function is_command(message)
  return message:match("^/%a+$") ~= nil or message:match("^/%a+%s") ~= nil
end

--- Sends what is typed.
function Chat:send()
  local typed = self.input:text()
  if vim.trim(typed) == "" then
    return
  elseif self:is_answering() and not is_command(typed) then
    vim.notify("Palimpsest: an answer is still coming. Stop it, or send this when it is there.")
    return
  end
  local message, attachments = self.input:take()
  self:say(message, attachments)
end

---@param message string
---@param attachments? palimpsest.Attachment[]
function Chat:say(message, attachments)
  if is_command(message) then
    return self:run_command(vim.trim(message))
  end
  local windows = self.windows
  if windows and vim.api.nvim_win_is_valid(windows.transcript) then
    -- Whoever sends wants to see what comes of it.
    vim.api.nvim_win_set_cursor(windows.transcript, { vim.api.nvim_buf_line_count(self.view.buf), 0 })
  end
  self:_run(methods.ChatRequest, {
    requestId = vim.fn.sha256(vim.base64.encode(assert(vim.uv.random(32)))):sub(1, 32),
    text = message,
    conversationId = self.conversation_id,
    folder = not self.conversation_id and self.folder or nil,
    attachments = attachments and #attachments > 0 and attachments or nil,
  }, message)
end

---@param command string Such as `/usage`.
function Chat:run_command(command)
  local generation = self.generation
  local params = { text = command, conversationId = self.conversation_id }
  params.folderUri = not self.conversation_id and self.folder or nil
  self.activity = command
  self:_draw_bar()
  client.request(self.root, methods.CommandRunRequest, params, function(err, result)
    if generation ~= self.generation then
      return
    end
    self.activity = nil
    if result and result.conversationId and result.conversationId ~= self.conversation_id then
      self:show(result.conversationId)
    end
    self:note(err and err.message or ("`%s`\n\n%s"):format(command, result.text))
  end)
end

function Chat:stop()
  local running = self.stream
  if not running or not running.is_active then
    vim.notify("Palimpsest: no answer is coming.")
  elseif running.turn_id then
    client.request(self.root, methods.TurnCancelRequest, { turnId = running.turn_id }, function(err)
      if err then
        complain(err)
      end
    end)
  else
    running:withdraw()
    self.stream = nil
    if running.text then
      self.input:give_back(running.text)
    end
    self:_draw(true)
  end
end

--- The turn that the newest message the model sees belongs to.
---@private
---@return string|nil
function Chat:_last_turn()
  for n = #self.messages, 1, -1 do
    local message = self.messages[n]
    if not message.isHidden and message.turnId then
      return message.turnId
    end
  end
end

---@param method string `turn/continue` or `turn/retry`.
function Chat:go_on(method)
  local turn_id = self:_last_turn()
  if self:is_answering() then
    vim.notify("Palimpsest: an answer is still coming.")
  elseif not turn_id then
    vim.notify("Palimpsest: nothing has been asked in this conversation yet.")
  else
    self:_run(method, { turnId = turn_id })
  end
end

--- Resolves an answer that broke off, in the conversation that is shown.
---@param turn_id string
---@param action palimpsest.RecoveryAction
function Chat:resolve(turn_id, action)
  local params = { turnId = turn_id, action = action }
  if action == "continue" or action == "retry" then
    return self:_run(methods.RecoveryResolveRequest, params)
  end
  client.request(self.root, methods.RecoveryResolveRequest, params, function(err)
    if err then
      complain(err)
    end
    self:_read("all")
  end)
end

--- The message under the cursor, when that is in the transcript.
---@return palimpsest.Entry|nil
function Chat:entry_under_cursor()
  if not self:is_open() or vim.api.nvim_get_current_win() ~= self.windows.transcript then
    return nil
  end
  return self.view:entry_at(vim.api.nvim_win_get_cursor(0)[1])
end

-- ------------------------------------------------------------------------------------------------ what is told

---@param event palimpsest.ContextEvent
function Chat:_hear_context(event)
  if event.type == "context_summarization_start" then
    self.activity = "summarising older messages…"
  elseif event.type == "context_summarization_progress" then
    self.activity = ("summarising: %d of %d messages…"):format(event.itemsProcessed or 0, event.totalItems or 0)
  else
    self.activity = nil
    if event.error then
      self:note(event.error)
    end
    self:_ask_summaries()
  end
  self:_draw_bar()
end

client.subscribe(function(event, root, params)
  local chat = chats[root]
  if not chat or not chat.view then
    return
  end
  if event == "gone" then
    chat.is_gone = not params.is_wanted
    chat.reading = nil
    chat.activity = nil
    chat:_draw_bar()
  elseif event == "ready" then
    chat.is_gone = false
    if chat.conversation_id then
      chat:reload()
    end
    chat:_draw_bar()
  elseif event == "facts" then
    chat.stale_facts = params.stale
    chat:_draw_bar()
  elseif params.conversationId ~= chat.conversation_id then
    return
  elseif event == "conversation" then
    if not chat:is_answering() then
      chat:_read("once")
    end
  elseif event == "usage" then
    local n_before = chat.usage and chat.usage.summaryCount or 0
    chat:_take_usage(params.usage)
    if params.usage.summaryCount ~= n_before then
      chat:_ask_summaries()
    end
  elseif event == "context" then
    chat:_hear_context(params)
  end
end)

return M
