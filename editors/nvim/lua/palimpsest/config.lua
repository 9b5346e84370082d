--- What the user may set. All of it is optional; how the server works is set by its own settings, not here.
local texts = require("palimpsest.texts").config

local M = {}

---@class palimpsest.WindowConfig
---@field layout? "split"|"float"|"full"
---@field side? "left"|"right"|"above"|"below" Of a split.
---@field width? number Of a split or float: columns, or below 1 a share of the screen.
---@field height? number Of a split above or below, or a float: lines, or below 1 a share of the screen.
---@field input_height? integer Lines.

---@class palimpsest.KeysConfig
---@field send? string[]|false Normal mode and insert mode.
---@field stop? string|false
---@field close? string|false Normal mode.

---@class palimpsest.RestartConfig
---@field attempts? integer How often in a row a server that ended is started again; 0 for never.
---@field delay_ms? integer Before the first; each further one waits twice as long.
---@field max_delay_ms? integer

---@class palimpsest.Config
---@field cmd? string[] Starts the server.
---@field root_markers? string[] A folder that holds one of these is a workspace folder.
---@field settings? table The server's settings, as in its docs/settings.md.
---@field window? palimpsest.WindowConfig
---@field keys? palimpsest.KeysConfig In the chat's own windows.
---@field complete_on_type? boolean Whether typing `@` or `/` opens the completion menu.
---@field restart? palimpsest.RestartConfig
---@field diagnostics? vim.diagnostic.Opts How the server's diagnostics look.

---@type palimpsest.Config
M.defaults = {
  cmd = { "palimpsest", "serve", "--stdio" },
  root_markers = { ".palimpsest.toml", ".git" },
  settings = {},
  window = { layout = "split", side = "right", width = 0.4, height = 0.8, input_height = 6 },
  keys = { send = { "<CR>", "<C-s>" }, stop = "<C-c>", close = "q" },
  complete_on_type = true,
  restart = { attempts = 6, delay_ms = 200, max_delay_ms = 10000 },
  diagnostics = { virtual_text = true },
}

M.current = vim.deepcopy(M.defaults)

local function one_of(...)
  local allowed = { ... }
  return function(value)
    return vim.list_contains(allowed, value), texts.one_of:format(table.concat(allowed, ", "))
  end
end

local function positive(value)
  return type(value) == "number" and value > 0, texts.positive
end

local function count(value)
  return type(value) == "number" and value >= 0 and value % 1 == 0, texts.count
end

local function key(value)
  return value == false or (type(value) == "string" and value ~= ""), texts.key
end

local function strings(value)
  return type(value) == "table" and vim.islist(value) and #value > 0 and vim.iter(value):all(function(each)
    return type(each) == "string"
  end),
    texts.strings
end

local function two_keys(value)
  return value == false or (strings(value) and #value == 2), texts.two_keys
end

local RULES = {
  cmd = strings,
  root_markers = strings,
  settings = "table",
  complete_on_type = "boolean",
  diagnostics = "table",
  window = {
    layout = one_of("split", "float", "full"),
    side = one_of("left", "right", "above", "below"),
    width = positive,
    height = positive,
    input_height = function(value)
      return count(value) and value > 0, texts.at_least_one
    end,
  },
  keys = { send = two_keys, stop = key, close = key },
  restart = { attempts = count, delay_ms = count, max_delay_ms = count },
}

local function validate(given, rules, path)
  vim.validate(path, given, "table")
  for name, value in pairs(given) do
    local at = ("%s.%s"):format(path, name)
    local rule = rules[name]
    if rule == nil then
      local known = vim.tbl_keys(rules)
      table.sort(known)
      error(texts.unknown:format(at, table.concat(known, ", ")), 0)
    elseif type(rule) == "table" then
      validate(value, rule, at)
    else
      vim.validate(at, value, rule)
    end
  end
end

--- Raises an error that names the option which cannot be meant; then nothing has changed.
---@param given palimpsest.Config
function M.set(given)
  validate(given, RULES, "palimpsest")
  local merged = vim.tbl_deep_extend("force", vim.deepcopy(M.defaults), given)
  M.current = merged
end

return M
