--- What the transcript and its bar show: what is stored, what is coming, and notes that are stored nowhere.
local approvals = require("palimpsest.approvals")
local sharing = require("palimpsest.sharing")
local statusline = require("palimpsest.statusline")
local start = require("palimpsest.chat.start")
local transcript = require("palimpsest.chat.transcript")

---@class palimpsest.Chat
local Chat = {}

--- What is going on, or how the newest answer ended when not as it should; empty when there is nothing to say.
---@param words table `texts.bar`, or `texts.status` where there is little room.
---@return string
function Chat:status(words)
  if self.is_gone then
    return words.gone
  elseif approvals.is_waiting() then
    return words.asks
  elseif self.activity then
    return self.activity
  elseif self.stream and self.stream.is_active and not sharing.writer(self) then
    return self.stream.pause or self.stream.turn_id and words.answering or words.sending
  end
  local newest = self.messages[#self.messages]
  return newest and words.ended[newest.state] or ""
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
    if #entries == 0 and not self.conversation_id then
      return { start.entry(self.root, self.model) }
    end
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
    local function set(win, bar)
      vim.api.nvim_set_option_value("winbar", bar, { win = win, scope = "local" })
    end
    set(self.windows.transcript, statusline.winbar(self))
    set(self.windows.input, statusline.input_bar(self))
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

return Chat
