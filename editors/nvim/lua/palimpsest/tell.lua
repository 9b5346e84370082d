--- Tells the user something that belongs to no place in a window.
local M = {}

--- Neovim's own `vim.notify` writes into the last line, where a longer text stops everything until Enter is pressed.
local function is_built_in()
  return vim.endswith(debug.getinfo(vim.notify, "S").source, "vim/_editor.lua")
end

--- What does not fit the last line is shown as far as it does, and is whole in `:messages`.
---@param said string
---@param level integer
local function say(said, level)
  local text = require("palimpsest.text")
  said = "Palimpsest: " .. text.one_line(said)
  local room = vim.v.echospace
  if not is_built_in() or vim.fn.strdisplaywidth(said) <= room then
    return vim.notify(said, level)
  end
  -- Not while a command line is being left: there nothing is cut, whatever 'shortmess' says.
  vim.schedule(function()
    local is_bad = level == vim.log.levels.ERROR
    local group = is_bad and "ErrorMsg" or level == vim.log.levels.WARN and "WarningMsg" or nil
    local kept = vim.o.shortmess
    vim.opt.shortmess:append("T")
    vim.cmd.echomsg(vim.fn.string(said))
    vim.o.shortmess = kept
    vim.cmd.redraw()
    vim.api.nvim_echo({ { text.shorten(said, math.max(2, room)), group } }, false, {})
  end)
end

---@param said string
function M.info(said)
  say(said, vim.log.levels.INFO)
end

---@param said string
function M.warn(said)
  say(said, vim.log.levels.WARN)
end

---@param said string
function M.error(said)
  say(said, vim.log.levels.ERROR)
end

--- Tells of a request that failed, in the server's words.
---@param err lsp.ResponseError
function M.failed(err)
  M.error(err.message)
end

return M
