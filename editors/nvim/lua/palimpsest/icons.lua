--- The icon of a file, from mini.icons or nvim-web-devicons when the user has one of them.
local M = {}

---@param path string
---@return string|nil icon Nil when there is neither.
function M.file(path)
  local mini = rawget(_G, "MiniIcons")
  if mini then
    return (mini.get("file", vim.fs.basename(path)))
  end
  local devicons = package.loaded["nvim-web-devicons"]
  if devicons then
    return (devicons.get_icon(vim.fs.basename(path), vim.fn.fnamemodify(path, ":e"), { default = true }))
  end
end

return M
