--- The chat's panel: its windows, its keys, and which conversation it shows.
local client = require("palimpsest.client")
local input = require("palimpsest.chat.input")
local methods = require("palimpsest.protocol").methods
local texts = require("palimpsest.texts").keys
local view = require("palimpsest.chat.view")
local window = require("palimpsest.chat.window")

---@class palimpsest.Chat
local Chat = {}

function Chat:is_open()
  return window.is_open(self.windows)
end

--- Shows the panel; the first time, the folder's newest conversation.
---@param done? fun()
function Chat:open(done)
  self.used_at = vim.uv.hrtime()
  local is_first = self.view == nil
  if not self.view or not self.view:is_valid() then
    self.view = view.create(self.root)
    self:_map_keys()
  end
  if not self.input or not self.input:is_valid() then
    local draft = self.input and self.input:text() or ""
    self.input = input.create(self)
    self.input:take_draft(draft)
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
    self:ask_model()
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
    end, { buffer = self.view.buf, desc = texts.prefix .. texts.close })
  end
  if keys.stop then
    vim.keymap.set("n", keys.stop, function()
      self:stop()
    end, { buffer = self.view.buf, desc = texts.prefix .. texts.stop })
  end
  vim.keymap.set("n", "<CR>", function()
    self:_take_starter()
  end, { buffer = self.view.buf, desc = texts.prefix .. texts.take })
end

---@private
function Chat:_take_starter()
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local starters = self.view.entries[1] and self.view.entries[1].starters
  if starters and line >= starters.first and line <= starters.last and self:is_open() then
    self.input:set_text(vim.trim(vim.api.nvim_get_current_line()))
    vim.api.nvim_set_current_win(self.windows.input)
  end
end

--- Asks which model answers in a new conversation, for the empty transcript.
function Chat:ask_model()
  client.request(self.root, methods.ModelStatusRequest, {}, function(err, status)
    if not err then
      self.model = status.model
      self:_draw()
    end
  end)
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

--- The message under the cursor, when that is in the transcript.
---@return palimpsest.Entry|nil
function Chat:entry_under_cursor()
  if not self:is_open() or vim.api.nvim_get_current_win() ~= self.windows.transcript then
    return nil
  end
  return self.view:entry_at(vim.api.nvim_win_get_cursor(0)[1])
end

return Chat
