--- What an empty transcript shows: where one is, which model answers, and what one may ask.
local text = require("palimpsest.text")
local texts = require("palimpsest.texts").empty

local M = {}

--- The file that the user edits beside the chat, and how many problems it has.
---@param root string
---@return string|nil name Its path within the folder.
---@return integer n_problems
local function open_file(root)
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local buf = vim.api.nvim_win_get_buf(win)
    local name = vim.bo[buf].buftype == "" and vim.fs.relpath(root, vim.api.nvim_buf_get_name(buf))
    if name and name ~= "." and name ~= "" then
      return text.one_line(name), #vim.diagnostic.get(buf, { severity = { min = vim.diagnostic.severity.WARN } })
    end
  end
  return nil, 0
end

---@param root string
---@return string[]
local function starters(root)
  local name, n_problems = open_file(root)
  local words = texts.starters
  local second = name and words.file:format("@" .. name) or words.first
  local third = name and n_problems > 1 and words.problems:format(n_problems, "@" .. name) or words.tests
  return { words.project, second, third }
end

---@param root string
---@param model palimpsest.ModelInfo|nil Nil until the server has told it.
---@return palimpsest.Entry
function M.entry(root, model)
  local lines = { texts.title, "", texts.folder:format(vim.fn.fnamemodify(root, ":~")) }
  if model and (model.provider == "offline" or not model.isAvailable) then
    vim.list_extend(lines, { "", texts.no_model, "" })
    vim.list_extend(lines, texts.add_key)
  elseif model then
    table.insert(lines, texts.model:format(text.one_line(model.name), text.one_line(model.provider)))
  end
  vim.list_extend(lines, { "", texts.try, "" })
  local first = #lines + 1
  for _, starter in ipairs(starters(root)) do
    table.insert(lines, "  " .. starter)
  end
  table.insert(lines, "")
  vim.list_extend(lines, texts.more)
  vim.list_extend(lines, { "", texts.kept })
  return {
    role = "start",
    parts = { { type = "text", text = table.concat(lines, "\n") } },
    has_header = false,
    starters = { first = first, last = first + 2 },
  }
end

return M
