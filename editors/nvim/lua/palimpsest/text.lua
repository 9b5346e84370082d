--- Text that others wrote, made fit to be shown.
local M = {}

local function shown(character)
  return ("⟨U+%04X⟩"):format(vim.fn.char2nr(character, true))
end

local function shown_byte(byte)
  return ("⟨U+%04X⟩"):format(byte:byte())
end

--- Line feeds and tabs stay, carriage returns go. Other controls, and what turns the direction of writing around or
--- cannot be seen, are written out. Holds piece by piece: a text cut between characters gives the same.
---@param text string
---@return string
function M.sanitise(text)
  text = text:gsub("\r", ""):gsub("[%z\1-\8\11\12\14-\31\127]", shown_byte)
  if text:find("[\194\226\239\243]") then
    text = text
      :gsub("\194[\128-\159]", shown) -- C1
      :gsub("\226\128[\139\142\143\168-\174]", shown) -- zero width space, marks, line separators, embeddings
      :gsub("\226\129[\160-\175]", shown) -- invisible operators, isolates
      :gsub("\239\187\191", shown) -- byte order mark
      :gsub("\243\160[\128-\129][\128-\191]", shown) -- tags
  end
  return text
end

--- A number with its noun, such as "1 message" and "2 messages".
---@param n integer
---@param noun string A regular one, in the singular.
---@return string
function M.counted(n, noun)
  return ("%d %s%s"):format(n, noun, n == 1 and "" or "s")
end

--- For a place that holds one line.
---@param text string
---@return string
function M.one_line(text)
  return (M.sanitise(vim.trim(text:gsub("%s+", " "))))
end

--- For 'winbar' and 'statusline', where a percent sign begins an item.
---@param text string
---@return string
function M.in_statusline(text)
  return (M.one_line(text):gsub("%%", "%%%%"))
end

---@param text string
---@param width integer Columns.
---@return string
function M.shorten(text, width)
  if vim.fn.strdisplaywidth(text) <= width then
    return text
  end
  return vim.fn.strcharpart(text, 0, width - 1) .. "…"
end

--- A time of the protocol (UTC, ISO 8601) in the user's zone, to the minute; as it is when it is none.
---@param stamp string
---@return string
function M.local_time(stamp)
  local y, mo, d, h, mi = stamp:match("^(%d+)-(%d+)-(%d+)T(%d+):(%d+)")
  if not y then
    return stamp
  end
  local date = { year = tonumber(y), month = tonumber(mo), day = tonumber(d), hour = tonumber(h), min = tonumber(mi) }
  local as_local = os.time(date)
  local utc = os.date("!*t", as_local) --[[@as osdate]]
  utc.isdst = os.date("*t", as_local).isdst
  return os.date("%Y-%m-%d %H:%M", as_local + (as_local - os.time(utc))) --[[@as string]]
end

return M
