--- Turns: sending, stopping and going on, commands of the server, and answers that broke off.
local client = require("palimpsest.client")
local tell = require("palimpsest.tell")
local methods = require("palimpsest.protocol").methods
local sharing = require("palimpsest.sharing")
local stream = require("palimpsest.chat.stream")
local texts = require("palimpsest.texts")

---@class palimpsest.Chat
local Chat = {}

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
    require("palimpsest.edits").note(self, result.files)
  elseif err and err.data and err.data.kind == "server_gone" and which.turn_id then
    -- What came stays to be seen until it can be read again.
    return self:_draw_bar()
  elseif err and not which.turn_id then
    self.stream = nil
    if which.text then
      self.input:give_back(which.text)
    end
    self:note(err.message)
    self:_draw(true)
    if which.text and self.conversation_id and err.data and err.data.canFork then
      vim.schedule(function()
        sharing.offer_fork(self)
      end)
    end
    return
  elseif err then
    local is_key = err.data and err.data.kind == "auth"
    self:note(is_key and err.message .. "\n\n" .. texts.key.change_hint or err.message)
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
  return message:match("^/%a[%w_-]*$") ~= nil
    or message:match("^/%a[%w_-]*%s") ~= nil
    or message:match("^/%a[%w_-]*:%S") ~= nil -- the prompt of an MCP server
end

--- Sends what is typed.
function Chat:send()
  local typed = self.input:text()
  if vim.trim(typed) == "" and #self.input.attachments == 0 then
    return
  elseif sharing.writer(self) and not is_command(typed) then
    return sharing.offer_fork(self)
  elseif self:is_answering() and not is_command(typed) then
    tell.info(texts.wait_or_stop)
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
  if self:is_open() then
    -- Whoever sends wants to see what comes of it.
    vim.api.nvim_win_set_cursor(self.windows.transcript, { vim.api.nvim_buf_line_count(self.view.buf), 0 })
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
    if result and result.draft then
      self.input:take_draft(result.draft)
    end
  end)
end

function Chat:stop()
  local running = self.stream
  if not running or not running.is_active then
    tell.info(texts.nothing.answer)
  elseif running.turn_id then
    client.request(self.root, methods.TurnCancelRequest, { turnId = running.turn_id }, function(err)
      if err then
        tell.failed(err)
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
    tell.info(texts.still_answering)
  elseif not turn_id then
    tell.info(texts.nothing.asked)
  else
    self:_run(method, { turnId = turn_id })
  end
end

--- The turns of the messages from one on that are not hidden; without one, the last turn.
---@param id integer|nil
---@return table<string, boolean>
function Chat:turns_from(id)
  local last = self:_last_turn()
  local turns = last and { [last] = true } or {}
  for _, message in ipairs(id and self.messages or {}) do
    if message.id >= id and not message.isHidden and message.turnId then
      turns[message.turnId] = true
    end
  end
  return turns
end

--- Answers the last message again; the user is asked about the edits of the answer that this hides.
function Chat:retry()
  local turn_id = self:_last_turn()
  if self:is_answering() or not turn_id then
    return self:go_on(methods.TurnRetryRequest)
  end
  require("palimpsest.edits").offer(self, { [turn_id] = true }, function(takes_back)
    if not self:is_answering() then
      self:_run(methods.TurnRetryRequest, { turnId = turn_id, takeBackChanges = takes_back })
    end
  end)
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
      tell.failed(err)
    end
    self:_read("all")
  end)
end

return Chat
