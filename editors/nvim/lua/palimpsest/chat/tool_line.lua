--- A tool call as one line: what it does, to what, and what came of it.
local icons = require("palimpsest.icons")
local text = require("palimpsest.text")
local texts = require("palimpsest.texts")

local M = {}

-- The argument that says best what a call is about, the best first.
local TARGETS = { "path", "command", "query", "pattern", "text", "url", "name" }
local WIDTH = 60

---@param part palimpsest.Part
---@return string target Empty when there is none, or when the arguments are not whole yet.
local function target_of(part)
  local ok, arguments = pcall(vim.json.decode, part.text)
  if not ok or type(arguments) ~= "table" then
    return ""
  end
  for _, name in ipairs(TARGETS) do
    local value = arguments[name]
    if type(value) == "table" then
      value = table.concat(vim.tbl_map(tostring, value), " ")
    end
    if type(value) == "string" and value ~= "" then
      local icon = name == "path" and icons.file(value)
      return (icon and icon .. " " or "") .. text.one_line(value)
    end
  end
  return ""
end

---@param part palimpsest.Part
local function result_of(part)
  if not part.result then
    local written = vim.split(vim.trim(part.output or ""), "[\r\n]+")
    return part.is_coming and text.shorten(text.one_line(written[#written]), WIDTH) or texts.tool.waits
  elseif part.is_error then
    local first = vim.split(vim.trim(part.result), "\n", { plain = true })[1]
    first = first:match("^(.-[.!?])%s+%u") or first -- What follows tells the model what to do next.
    return first ~= "" and ("%s: %s"):format(texts.tool.failed, text.one_line(first)) or texts.tool.failed
  end
  local status = part.name == "run_command" and part.result:match(texts.tool.exit_pattern)
  if status and status ~= "0" then
    return texts.tool.exit_status:format(status)
  end
  local lines = vim.split(vim.trim(part.result), "\n", { plain = true })
  -- What was read from a file has numbered lines, below a heading.
  local numbered = vim.tbl_filter(function(line)
    return line:find("^%s*%d+\t") ~= nil
  end, lines)
  return text.counted(#numbered > 0 and #numbered or #lines, "line")
end

---@param part palimpsest.Part
---@return string
function M.of(part)
  local name = text.one_line(part.name or "tool")
  local is_done = part.result ~= nil and not part.is_error
  local verbs = texts.verbs[part.name]
  local verb = verbs and verbs[is_done and 2 or 1] or texts.used[is_done and 2 or 1]:format(name)
  local words = vim.trim(verb .. " " .. text.shorten(target_of(part), WIDTH))
  local result = result_of(part)
  local sign = part.is_error and "✗" or "▸"
  return ("%s %s%s"):format(sign, words, result ~= "" and " · " .. result or part.is_coming and "…" or "")
end

return M
