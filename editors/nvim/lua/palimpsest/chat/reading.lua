--- Reading a conversation page by page, how full its context is, and its summaries.
local client = require("palimpsest.client")
local tell = require("palimpsest.tell")
local methods = require("palimpsest.protocol").methods
local stream = require("palimpsest.chat.stream")

local PAGE = 1000
local OVERLAP = 100

---@class palimpsest.Chat
local Chat = {}

--- Reads all of it again. A running answer is followed from the last piece that was read.
function Chat:reload()
  if self.stream and self.stream.turn_id then
    self.stream:leave()
    self.stream = nil
  end
  self:_read("all")
  self:_ask_usage()
end

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
          tell.failed(err)
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
  if is_first and self.info.shared and not self.hub then
    client.request(self.root, methods.HubStatusRequest, { folder = self.folder }, function(err, status)
      if not err then
        self.hub = status
        self:_draw_bar()
      end
    end)
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

return Chat
