--- Tables in an answer, in columns: blanks that are only shown are added to the cells, and the text stays as it is.
local M = {}

-- A wider table would be wrapped, and then columns help nobody.
local WIDEST = 100

---@param line string
---@return integer[] bars The bytes before each bar that ends a cell.
local function bars_of(line)
  local bars = {}
  for at in line:gmatch("()|") do
    local n_escapes = #line:sub(1, at - 1):match("\\*$")
    if n_escapes % 2 == 0 and line:sub(1, at - 1):find("%S") then
      table.insert(bars, at - 1)
    end
  end
  return bars
end

local function is_ruler(line)
  return line:find("^[%s|:-]+$") ~= nil and line:find("-", 1, true) ~= nil and line:find("|", 1, true) ~= nil
end

---@param lines string[]
---@param first integer Of the table; likewise `last`.
---@param found { line: integer, column: integer, fill: string }[]
local function pad(lines, first, last, found)
  local rows, widths = {}, {}
  for n = first, last do
    local start = 0
    rows[n] = {}
    for column, bar in ipairs(bars_of(lines[n])) do
      local width = vim.fn.strdisplaywidth(lines[n]:sub(start + 1, bar))
      rows[n][column] = { bar = bar, width = width }
      widths[column], start = math.max(widths[column] or 0, width), bar
    end
  end
  local sum = 0
  for _, width in ipairs(widths) do
    sum = sum + width
  end
  if sum > WIDEST then
    return
  end
  for n = first, last do
    for column, cell in ipairs(rows[n]) do
      local missing = widths[column] - cell.width
      if missing > 0 then
        local fill = (n == first + 1 and "-" or " "):rep(missing)
        table.insert(found, { line = n, column = cell.bar, fill = fill })
      end
    end
  end
end

---@param lines string[] Of an answer.
---@return { line: integer, column: integer, fill: string }[] found Lines counted from 1, columns in bytes.
function M.padding(lines)
  local found, fence, n = {}, nil, 1
  while n <= #lines do
    local mark = lines[n]:match("^%s*(```+)") or lines[n]:match("^%s*(~~~+)")
    if mark and (not fence or vim.startswith(mark, fence)) then
      fence = not fence and mark or nil
    elseif not fence and lines[n]:find("|", 1, true) and lines[n + 1] and is_ruler(lines[n + 1]) then
      local first = n
      n = n + 1
      while lines[n + 1] and lines[n + 1]:find("|", 1, true) do
        n = n + 1
      end
      pad(lines, first, n, found)
    end
    n = n + 1
  end
  return found
end

return M
