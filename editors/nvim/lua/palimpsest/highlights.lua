--- The highlight groups, each a link that a colour scheme or the user may set otherwise.
local M = {}

local LINKS = {
  PalimpsestTitle = "Title",
  PalimpsestUser = "Statement",
  PalimpsestAnswer = "Function",
  PalimpsestNote = "Special",
  PalimpsestAbout = "Comment",
  PalimpsestEnding = "WarningMsg",
  PalimpsestFold = "Comment",
  PalimpsestFailed = "DiagnosticError",
  PalimpsestStarter = "Underlined",
  PalimpsestAdded = "Added",
  PalimpsestRemoved = "Removed",
  PalimpsestHunk = "Special",
  PalimpsestGreen = "DiagnosticOk",
  PalimpsestYellow = "DiagnosticWarn",
  PalimpsestRed = "DiagnosticError",
}

function M.define()
  local function set()
    for name, target in pairs(LINKS) do
      vim.api.nvim_set_hl(0, name, { link = target, default = true })
    end
  end
  set()
  vim.api.nvim_create_autocmd("ColorScheme", {
    group = vim.api.nvim_create_augroup("palimpsest_highlights", {}),
    callback = set,
  })
end

return M
