--- How full the context is, for the bar above the chat and for the user's status line.
local sharing = require("palimpsest.sharing")
local text = require("palimpsest.text")

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
  local title = chat.info and chat.info.title ~= "" and chat.info.title or "New conversation"
  local parts = { "%#PalimpsestTitle# %<" .. text.in_statusline(text.shorten(text.one_line(title), 40)) .. "%* " }
  local usage = chat.usage
  if usage then
    local group = COLOURS[usage.severity] or "PalimpsestGreen"
    table.insert(parts, ("%%#%s#%s%%* %s"):format(group, bar(usage), text.in_statusline(usage.compact)))
    table.insert(parts, text.in_statusline(usage.model))
  end
  local mark = sharing.mark(chat.info, chat.hub)
  if mark ~= "" then
    table.insert(parts, "%#PalimpsestAbout#· " .. text.in_statusline(mark) .. "%*")
  end
  table.insert(parts, "%=" .. text.in_statusline(chat:status()) .. " ")
  return table.concat(parts, " ")
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
  local status = chat:status()
  if status ~= "" then
    table.insert(parts, text.one_line(status))
  end
  local mark = sharing.mark(chat.info, chat.hub)
  if mark ~= "" then
    table.insert(parts, mark)
  end
  if chat.stale_facts and chat.stale_facts > 0 then
    table.insert(parts, ("%d stale"):format(chat.stale_facts))
  end
  return table.concat(parts, " · ")
end

return M
