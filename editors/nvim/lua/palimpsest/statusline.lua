--- How full the context is, for the bar above the chat and for the user's status line.
local config = require("palimpsest.config")
local sharing = require("palimpsest.sharing")
local text = require("palimpsest.text")
local texts = require("palimpsest.texts")

local M = {}

local CELLS = 10
local COLOURS = { green = "PalimpsestGreen", yellow = "PalimpsestYellow", red = "PalimpsestRed" }

---@param usage palimpsest.ContextUsage
---@return string
local function bar(usage)
  local n_full = math.max(0, math.min(CELLS, math.floor(usage.percentage / 100 * CELLS + 0.5)))
  return ("▰"):rep(n_full) .. ("▱"):rep(CELLS - n_full)
end

---@param chat palimpsest.Chat
---@return string winbar
function M.winbar(chat)
  local title = text.one_line(chat.info and chat.info.title ~= "" and chat.info.title or texts.conversations.new)
  local usage, mark = chat.usage, text.one_line(sharing.mark(chat.info, chat.hub))
  -- Who reads and who writes is always in sight. The title has the room that is left; the model's name and the bar go
  -- before it is cut.
  local room = vim.api.nvim_win_get_width(chat.windows.transcript) - 2
  room = mark ~= "" and room - vim.fn.strdisplaywidth(mark) - 3 or room
  title = text.shorten(title, math.max(8, room))
  local free = room - vim.fn.strdisplaywidth(title)
  local parts = { "%#PalimpsestTitle# " .. text.in_statusline(title) .. "%*" }
  local function add(plain, shown)
    local width = vim.fn.strdisplaywidth(plain) + 1
    if free >= width then
      free = free - width
      table.insert(parts, shown)
    end
  end
  if mark ~= "" then
    table.insert(parts, "%#PalimpsestAbout#· " .. text.in_statusline(mark) .. "%*")
  end
  if usage then
    local group = COLOURS[usage.severity] or "PalimpsestGreen"
    add(bar(usage), ("%%#%s#%s%%*"):format(group, bar(usage)))
    add(text.one_line(usage.compact), text.in_statusline(usage.compact))
    add(text.one_line(usage.model), text.in_statusline(usage.model))
  end
  return table.concat(parts, " ") .. "%<"
end

--- Above the input: what is going on or how the answer ended, else what can be typed.
---@param chat palimpsest.Chat
---@return string winbar
function M.input_bar(chat)
  local width = vim.api.nvim_win_get_width(chat.windows.input) - 2
  local words = texts.bar
  local status, group = text.one_line(chat:status(words)), "PalimpsestEnding"
  if status == "" then
    local send = config.current.keys.send
    local first = send and words.send_key:format(send[2]) or ""
    local fits = vim.fn.strdisplaywidth(first .. words.message) <= width
    status, group = first .. (fits and words.message or words.message_narrow), "PalimpsestAbout"
  elseif chat:is_answering() and status ~= words.asks then
    local stop = config.current.keys.stop
    status, group = status .. (stop and words.stop_key:format(stop) or ""), "PalimpsestAbout"
  end
  return ("%%#%s# %s%%*"):format(group, text.in_statusline(text.shorten(status, width)))
end

---@return string
function M.component()
  local chat = require("palimpsest.chat").current()
  if not chat then
    return ""
  end
  local parts = {}
  if chat.usage then
    table.insert(parts, text.one_line(chat.usage.compact))
  end
  local status = chat:status(texts.status)
  if status ~= "" then
    table.insert(parts, text.one_line(status))
  end
  local mark = sharing.mark(chat.info, chat.hub)
  if mark ~= "" then
    table.insert(parts, mark)
  end
  if chat.stale_facts and chat.stale_facts > 0 then
    table.insert(parts, texts.facts.to_check:format(chat.stale_facts))
  end
  return table.concat(parts, " · ")
end

return M
