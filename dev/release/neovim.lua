-- One question in a Neovim that has nothing but the plugin: asks QUESTION, and ends well when ANSWER is shown.
local function wait(what, holds)
  if not vim.wait(60000, holds, 20) then
    io.stderr:write(("it did not happen: %s\n%s\n"):format(what, vim.fn.execute("messages")))
    vim.cmd("cquit 1")
  end
end

local function current()
  return require("palimpsest.chat").current()
end

vim.cmd("Palimpsest")
wait("the chat is open", function()
  local chat = current()
  return chat and chat.view and chat.windows and chat.reading == nil
end)
local chat = current()
chat.input:set_text(vim.env.QUESTION)
vim.api.nvim_set_current_win(chat.windows.input)
vim.api.nvim_feedkeys(vim.keycode("<CR>"), "mx", false)
wait("the answer is shown", function()
  local lines = vim.api.nvim_buf_get_lines(chat.view.buf, 0, -1, false)
  return table.concat(lines, "\n"):find(vim.env.ANSWER, 1, true)
end)
vim.cmd("qall!")
