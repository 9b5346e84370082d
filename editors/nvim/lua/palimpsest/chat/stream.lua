--- One running turn as this editor sees it: begun here, or followed from where it stands.
local client = require("palimpsest.client")
local transcript = require("palimpsest.chat.transcript")

local M = {}

---@class palimpsest.Stream
---@field parts palimpsest.Part[] What came that is not among the stored messages yet.
---@field seq integer The last delta seen.
---@field base_id integer The newest message that is shown as it is stored; later ones of the turn come from here.
---@field turn_id? string Nil until the turn is admitted.
---@field is_active boolean Whether more may come.
---@field pause? string What the turn waits for, such as a pause before the model's service is asked again.
---@field text? string Of a message sent from here: its text.
---@field private token string
---@field private work_token? string Of what it waits for before its first request.
---@field private request { cancel: fun() }
local Stream = {}
Stream.__index = Stream

---@class palimpsest.StreamEvents
---@field admitted fun(stream: palimpsest.Stream, delta: palimpsest.TurnDelta)
---@field changed fun(stream: palimpsest.Stream, appended: string|nil)
---@field ended fun(stream: palimpsest.Stream, err: lsp.ResponseError|nil, result: palimpsest.ChatResult|nil)

---@param root string
---@param method string
---@param params table
---@param from { base_id: integer, parts?: palimpsest.Part[], seq?: integer, turn_id?: string, text?: string }
---@param events palimpsest.StreamEvents
---@return palimpsest.Stream
function M.begin(root, method, params, from, events)
  local stream = setmetatable({
    parts = from.parts or {},
    seq = from.seq or 0,
    base_id = from.base_id,
    turn_id = from.turn_id,
    text = from.text,
    is_active = true,
  }, Stream)
  stream.token = client.open_stream(function(delta)
    if delta.type == "turn" then
      local is_first = stream.turn_id == nil
      stream.turn_id = delta.turnId
      stream.base_id = math.max(stream.base_id, delta.userMessageId or -1)
      if is_first then
        events.admitted(stream, delta)
      end
    elseif stream.is_active and delta.seq > stream.seq then
      stream.seq = delta.seq
      stream.pause = delta.type == "pause" and delta.text or nil
      events.changed(stream, transcript.take(stream.parts, delta))
    end
  end)
  local wanted = vim.tbl_extend("error", params, { partialResultToken = stream.token })
  if method ~= "palimpsest/turn/attach" then
    stream.work_token = client.open_stream(function(work)
      stream.pause = work.kind ~= "end" and work.message or nil
      events.changed(stream)
    end)
    wanted.workDoneToken = stream.work_token
  end
  stream.request = client.request(root, method, wanted, function(err, result)
    local was_active = stream.is_active
    stream:leave()
    if was_active then
      events.ended(stream, err, result)
    end
  end)
  return stream
end

--- Sees no more of it. The turn goes on.
function Stream:leave()
  self.is_active = false
  client.close_stream(self.token)
  if self.work_token then
    client.close_stream(self.work_token)
  end
end

--- Takes back a request that nothing has come of; nobody is told of its end.
function Stream:withdraw()
  self:leave()
  self.request.cancel()
end

return M
