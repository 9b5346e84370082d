--- What the terminal shows that was used last: for the mention `@terminal`, and for no model.
local texts = require("palimpsest.texts").terminal

local M = {}

local MOST = 200

---@type palimpsest.EditorToolInfo
M.TOOL = {
  name = "terminal",
  description = texts.description,
  parameters = vim.empty_dict(),
  isReadOnly = true,
  forMentions = true,
}

---@return integer|nil bufnr
local function newest()
  local found
  for _, info in ipairs(vim.fn.getbufinfo({ bufloaded = 1 })) do
    if vim.bo[info.bufnr].buftype == "terminal" and (not found or info.lastused >= found.lastused) then
      found = info
    end
  end
  return found and found.bufnr
end

--- The last lines that a terminal shows.
---@param bufnr integer
---@return string
function M.text(bufnr)
  local lines = vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)
  while lines[#lines] == "" do -- below what was written
    table.remove(lines)
  end
  return table.concat(lines, "\n", math.max(1, #lines - MOST + 1))
end

---@param params palimpsest.RunToolParams
---@return palimpsest.RunToolResult
function M.run(params)
  if params.name ~= M.TOOL.name then
    return { text = texts.no_tool:format(params.name), isError = true }
  end
  local bufnr = newest()
  if not bufnr then
    return { text = texts.none, isError = true }
  end
  return { text = M.text(bufnr) }
end

return M
