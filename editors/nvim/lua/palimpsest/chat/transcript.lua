--- A conversation as lines: which text stands where, what is folded, what is only decoration. Touches no buffer.
local text = require("palimpsest.text")
local texts = require("palimpsest.texts")
local tool_line = require("palimpsest.chat.tool_line")

local M = {}

--- The newest bytes of what a running tool writes that are shown.
local OUTPUT = 4000

---@class palimpsest.Part
---@field type "text"|"thinking"|"tool"|"attachment"
---@field text string
---@field name? string
---@field call_id? string
---@field output? string The newest of what it wrote so far.
---@field result? string
---@field is_error? boolean
---@field is_coming? boolean Whether its result may still come.

---@class palimpsest.Fold
---@field first integer Counted from 1, within the entry or the whole.
---@field last integer
---@field label string
---@field level integer

---@class palimpsest.Entry
---@field id? integer The message; nil for what is no message, and for an answer that is still coming.
---@field turn_id? string
---@field role "user"|"assistant"|"note"|"start"
---@field parts palimpsest.Part[]
---@field has_header boolean
---@field author? string Of a shared conversation: who else wrote it, or asked for it.
---@field stamp? string
---@field ending? string How it ended, when not as it should: the last line.
---@field starters? { first: integer, last: integer } The lines of an empty transcript that can be taken into the input.
---@field group? { key: string, label: string } Neighbours with the same key are folded as one.
---@field lines? string[]
---@field folds? palimpsest.Fold[]
---@field start? integer The line before its first one.
---@field has_gap? boolean Whether it was rendered with a blank line before it.
---@field is_running? boolean
---@field padding? { line: integer, column: integer, fill: string }[] What keeps the columns of its tables in line.

local ENDINGS, HEADERS = texts.endings, texts.headers

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
    return lines, "▸ " .. texts.thought:format(text.counted(#lines, "line"))
  elseif part.type == "attachment" then
    local lines = indented(part.text)
    local label = texts.attached:format(text.one_line(part.name or ""))
    table.insert(lines, 1, "    " .. label)
    return lines, "▸ " .. label
  end
  local name = text.one_line(part.name or texts.tool.some)
  local lines = { "    " .. texts.tool.arguments:format(name) }
  vim.list_extend(lines, indented(part.text))
  if part.output and not part.result then
    table.insert(lines, "    " .. texts.tool.written)
    vim.list_extend(lines, indented(part.output))
  end
  if part.result then
    table.insert(lines, "    " .. (part.is_error and texts.tool.failed .. ":" or texts.tool.result))
    vim.list_extend(lines, indented(part.result))
  end
  return lines, tool_line.of(part)
end

---@param entry palimpsest.Entry
---@param has_gap boolean
function M.render_entry(entry, has_gap)
  local lines, folds = {}, {}
  if has_gap then
    table.insert(lines, "")
  end
  if entry.has_header then
    local author = entry.author and text.one_line(entry.author)
    local own = HEADERS[entry.role]
    table.insert(lines, not author and own or entry.role == "user" and author or HEADERS.to:format(own, author))
  end
  for n, part in ipairs(entry.parts) do
    if n > 1 and not (part.type == "tool" and entry.parts[n - 1].type == "tool") then
      table.insert(lines, "")
    end
    local rendered, label = render_part(part)
    if label then
      table.insert(folds, { first = #lines + 1, last = #lines + #rendered, label = label, level = 1 })
    end
    vim.list_extend(lines, rendered)
  end
  if entry.ending then
    vim.list_extend(lines, { "", entry.ending })
  end
  entry.lines, entry.folds, entry.has_gap = lines, folds, has_gap
end

--- A blank line keeps entries apart, but not the calls of a turn.
---@param before palimpsest.Entry|nil
---@param entry palimpsest.Entry
---@return boolean
local function is_apart(before, entry)
  local last, first = before and before.parts[#before.parts], entry.parts[1]
  local is_run = last and first and last.type == "tool" and first.type == "tool"
  return before ~= nil and (entry.has_header or not is_run or before.ending ~= nil)
end

---@param message palimpsest.MessageInfo
---@param calls table<string, palimpsest.Part> The newest call by each id; ids begin again in each turn.
---@return palimpsest.Part[]
local function parts_of(message, calls)
  local parts = {}
  if message.isPurged then
    return { { type = "text", text = texts.folded.deleted } }
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
    return { key = "purged", label = texts.folded.all_deleted }
  elseif message.isHidden then
    return { key = "hidden", label = texts.folded.hidden }
  end
  for _, summary in ipairs(summaries) do
    if message.id >= summary.first and message.id < summary.last then
      return {
        key = "summary " .. summary.id,
        label = texts.folded.summarized:format(summary.id),
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
    local has_gap = is_apart(entries[n - 1], entry)
    if not entry.lines or entry.has_gap ~= has_gap then
      M.render_entry(entry, has_gap)
    end
    entry.start = #lines
    vim.list_extend(lines, entry.lines)
    local level = entry.group and 1 or 0
    if entry.group and group and group.key == entry.group.key then
      group.last, group.count = #lines, group.count + 1
    elseif entry.group then
      -- The blank line before a group is not part of it, so that two groups stay apart.
      local first = entry.start + (has_gap and 2 or 1)
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
    table.insert(parts, { type = "tool", call_id = delta.callId, name = delta.name, text = "", is_coming = true })
  elseif delta.type == "toolArguments" and call then
    call.text = call.text .. (delta.text or "")
  elseif delta.type == "toolOutput" and call then
    call.output = ((call.output or "") .. (delta.text or "")):sub(-OUTPUT):gsub("^[\128-\191]+", "")
  elseif delta.type == "toolResult" then
    if not call then
      -- The call itself was committed before this stream began.
      call = { type = "tool", call_id = delta.callId, name = delta.name, text = "" }
      table.insert(parts, call)
    end
    call.is_coming, call.result, call.is_error = false, delta.text or "", delta.isError
  end
end

return M
