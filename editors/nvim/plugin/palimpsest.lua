if vim.g.loaded_palimpsest then
  return
end
vim.g.loaded_palimpsest = true

if vim.fn.has("nvim-0.11") == 0 then
  vim.api.nvim_create_user_command("Palimpsest", function()
    vim.notify(
      "Palimpsest needs Neovim 0.11 or newer; editors/README.md has a set-up for older ones.",
      vim.log.levels.ERROR
    )
  end, { nargs = "*" })
  return
end

vim.api.nvim_create_user_command("Palimpsest", function(call)
  require("palimpsest.commands").run(call)
end, {
  nargs = "*",
  range = true,
  desc = "Talk with a language model about this folder",
  complete = function(lead, line)
    return require("palimpsest.commands").complete(lead, line)
  end,
})

local names = {
  "open",
  "close",
  "toggle",
  "new",
  "pick",
  "conversations",
  "stop",
  "retry",
  "continue",
  "fork",
  "recover",
  "undo",
  "redo",
  "facts",
  "key",
  "decide",
}
for _, name in ipairs(names) do
  vim.keymap.set("n", "<Plug>(palimpsest-" .. name .. ")", "<Cmd>Palimpsest " .. name .. "<CR>", { silent = true })
end
vim.keymap.set("x", "<Plug>(palimpsest-attach)", ":Palimpsest attach<CR>", { silent = true })
