-- Neovim as a user would have it: the plugin in 'runtimepath', its server named, nothing else set.
vim.opt.runtimepath:prepend(vim.env.TEST_PALIMPSEST_PLUGIN)
vim.opt.swapfile = false
vim.cmd("filetype on")
vim.cmd("runtime! plugin/palimpsest.lua")
local here = vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p:h")
package.path = here .. "/?.lua;" .. package.path
require("palimpsest").setup({
  cmd = { vim.env.TEST_PALIMPSEST_PYTHON, "-P", "-m", "palimpsest", "serve", "--stdio" },
  restart = { delay_ms = 20 },
})
