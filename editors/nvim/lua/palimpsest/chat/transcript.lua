--- A conversation as lines: which text stands where, what is folded, what is only decoration. Touches no buffer.
local text = require("palimpsest.text")

local M = {}

---@class palimpsest.Part
---@field type "text"|"thinking"|"tool"|"attachment"
---@field text string
---@field name? string
---@field call_id? string
---@field result? string
---@field is_error? boolean
---@field is_running? boolean

---@class palimpsest.Fold
---@field first integer Counted from 1, within the entry or the whole.
---@field last integer
---@field label string
---@field level integer

---@class palimpsest.Entry
---@field id? integer The message; nil for what is no message, and for an answer that is still coming.
---@field turn_id? string
---@field role "user"|"assistant"|"note"
---@field parts palimpsest.Part[]
---@field has_header boolean
---@field author? string Of a shared conversation: who else wrote it, or asked for it.
---@field stamp? string
---@field ending? string How it ended, when not as it should.
---@field group? { key: string, label: string } Neighbours with the same key are folded as one.
---@field lines? string[]
---@field folds? palimpsest.Fold[]
---@field start? integer The line before its first one.
---@field is_first? boolean Whether it was rendered without a blank line before it.
---@field is_running? boolean

local ENDINGS = {
  cancelled = "Stopped; the text that had arrived is kept.",
  errored = "It broke off with an error; the text that had arrived is kept. :Palimpsest continue or retry goes on.",
  interrupted = "It broke off when its server ended; the text that had arrived is kept. "
    .. ":Palimpsest continue or retry goes on.",
}

local HEADERS = { user = "You", assistant = "Answer", note = "Palimpsest" }

--- A tool's words look like code, whatever they hold: indented, no line of them is a heading, a fence or a list.
local function indented(body)
  local lines = vim.split(text.sanitise(body), "\n", { plain = true })
  return vim.tbl_map(function(line)
    return "    " .. line
  end, lines)
end

---@param part palimpsest.Part
---@return string[] lines
---@return string|nil label Of the fold that they are.
local function render_part(part)
  if part.type == "text" then
    return vim.split(text.sanitise(part.text), "\n", { plain = true }), nil
  elseif part.type == "thinking" then
    local lines = indented(part.text)
    return lines, ("▸ Reasoning (%s)"):format(text.counted(#lines, "line"))
  elseif part.type == "attachment" then
    local lines = indented(part.text)
    table.insert(lines, 1, "    attached: " .. text.one_line(part.name or ""))
    return lines, "▸ attached: " .. text.one_line(part.name or "")
  end
  local name = text.one_line(part.name or "tool")
  local lines = { "    " .. name }
  vim.list_extend(lines, indented(part.text))
  local state = part.is_running and "running" or "requested"
  if part.result then
    state = part.is_error and "failed" or text.counted(#vim.split(part.result, "\n", { plain = true }), "line")
    table.insert(lines, part.is_error and "    ✗ failed:" or "    → result:")
    vim.list_extend(lines, indented(part.result))
  end
  return lines, ("▸ %s %s (%s)"):format(name, text.shorten(text.one_line(part.text), 60), state)
end

---@param entry palimpsest.Entry
---@param is_first boolean
function M.render_entry(entry, is_first)
  local lines, folds = {}, {}
  if not is_first then
    table.insert(lines, "")
  end
  if entry.has_header then
    local author = entry.author and text.one_line(entry.author)
    local own = HEADERS[entry.role]
    table.insert(lines, not author and own or entry.role == "user" and author or ("%s to %s"):format(own, author))
  end
  for n, part in ipairs(entry.parts) do
    if n > 1 then
      table.insert(lines, "")
    end
    local rendered, label = render_part(part)
    if label then
      table.insert(folds, { first = #lines + 1, last = #lines + #rendered, label = label, level = 1 })
    end
    vim.list_extend(lines, rendered)
  end
  entry.lines, entry.folds, entry.is_first = lines, folds, is_first
end

---@param message palimpsest.MessageInfo
---@param calls table<string, palimpsest.Part> The newest call by each id; ids begin again in each turn.
---@return palimpsest.Part[]
local function parts_of(message, calls)
  local parts = {}
  if message.isPurged then
    return { { type = "text", text = "(deleted for good)" } }
  end
  for _, part in ipairs(message.parts) do
    if part.type == "text" then
      table.insert(parts, { type = "text", text = part.text or "" })
    elseif part.type == "reasoning" then
      table.insert(parts, { type = "thinking", text = part.text or "" })
    elseif part.type == "attachment" then
      table.insert(parts, { type = "attachment", name = part.name, text = part.text or "" })
    elseif part.type == "tool_call" then
      local call = { type = "tool", name = part.name, call_id = part.callId, text = part.arguments or "" }
      calls[part.callId or ""] = call
      table.insert(parts, call)
    elseif part.type == "tool_result" then
      local call = calls[part.callId or ""]
      if call and not call.result then
        call.result, call.is_error = part.text or "", part.isError
      else
        local result = part.text or ""
        table.insert(
          parts,
          { type = "tool", name = part.name, text = "", result = result, is_error = part.isError or false }
        )
      end
    end
  end
  return parts
end

---@param message palimpsest.MessageInfo
---@param summaries palimpsest.CoveredRange[]
local function group_of(message, summaries)
  if message.isPurged then
    return { key = "purged", label = "▸ %s deleted for good" }
  elseif message.isHidden then
    return { key = "hidden", label = "▸ %s hidden; no model sees them" }
  end
  for _, summary in ipairs(summaries) do
    if message.id >= summary.first and message.id < summary.last then
      return {
        key = "summary " .. summary.id,
        label = "▸ %s, replaced by summary " .. summary.id .. " in the context",
      }
    end
  end
end

--- The stored messages, oldest first. Results of tools stand with their calls.
---@param messages palimpsest.MessageInfo[]
---@param summaries palimpsest.CoveredRange[]
---@return palimpsest.Entry[]
function M.entries_of(messages, summaries)
  local entries, calls = {}, {}
  for _, message in ipairs(messages) do
    local parts = parts_of(message, calls)
    local before = entries[#entries]
    if #parts > 0 or message.role ~= "tool" then
      local role = message.role == "user" and "user" or "assistant"
      local goes_on = before ~= nil and role == "assistant" and before.role == role and before.turn_id == message.turnId
      table.insert(entries, {
        id = message.id,
        turn_id = message.turnId,
        role = role,
        parts = parts,
        has_header = not goes_on,
        stamp = message.createdAt,
        ending = ENDINGS[message.state],
        author = message.author,
        group = group_of(message, summaries),
      })
    elseif before and ENDINGS[message.state] then
      before.ending = ENDINGS[message.state]
    end
  end
  return entries
end

---@param entries palimpsest.Entry[]
---@return string[] lines
---@return palimpsest.Fold[] folds
function M.layout(entries)
  local lines, folds = {}, {}
  local group
  for n, entry in ipairs(entries) do
    if not entry.lines or entry.is_first ~= (n == 1) then
      M.render_entry(entry, n == 1)
    end
    entry.start = #lines
    vim.list_extend(lines, entry.lines)
    local level = entry.group and 1 or 0
    if entry.group and group and group.key == entry.group.key then
      group.last, group.count = #lines, group.count + 1
    elseif entry.group then
      -- The blank line before a group is not part of it, so that two groups stay apart.
      local first = entry.start + (n == 1 and 1 or 2)
      group = { key = entry.group.key, first = first, last = #lines, level = 1, count = 1, label = entry.group.label }
      table.insert(folds, group)
    else
      group = nil
    end
    for _, fold in ipairs(entry.folds) do
      table.insert(folds, {
        first = entry.start + fold.first,
        last = entry.start + fold.last,
        label = fold.label,
        level = fold.level + level,
      })
    end
  end
  for _, fold in ipairs(folds) do
    if fold.count then
      fold.label = fold.label:format(text.counted(fold.count, "message"))
    end
  end
  return #lines > 0 and lines or { "" }, folds
end

--- Takes a piece of a running turn.
---@param parts palimpsest.Part[]
---@param delta palimpsest.TurnDelta
---@return string|nil appended What was added at the end of the last part, when nothing else has changed.
function M.take(parts, delta)
  local last = parts[#parts]
  if delta.type == "text" or delta.type == "thinking" then
    if last and last.type == delta.type then
      last.text = last.text .. (delta.text or "")
      return delta.type == "text" and delta.text or nil
    elseif (delta.text or "") ~= "" then
      table.insert(parts, { type = delta.type, text = delta.text })
    end
    return nil
  end
  local call
  for n = #parts, 1, -1 do
    if parts[n].type == "tool" and parts[n].call_id == delta.callId then
      call = parts[n]
      break
    end
  end
  if delta.type == "toolCall" then
    table.insert(parts, { type = "tool", call_id = delta.callId, name = delta.name, text = "" })
  elseif delta.type == "toolArguments" and call then
    call.text = call.text .. (delta.text or "")
  elseif delta.type == "toolStart" and call then
    call.is_running = true
  elseif delta.type == "toolResult" then
    if not call then
      -- The call itself was committed before this stream began.
      call = { type = "tool", call_id = delta.callId, name = delta.name, text = "" }
      table.insert(parts, call)
    end
    call.is_running, call.result = false, delta.text or ""
  end
end

return M
