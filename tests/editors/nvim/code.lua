-- Chats about code begin with Neovim's own code actions; every slash command answers in the panel.
local t = require("harness")
local it, eq, wait, shows = t.it, t.eq, t.wait, t.shows

vim.fn.writefile({ "import os", "", "", "def start():", "    pump = 18", "    return pump" }, "pump.py")
vim.lsp.enable("palimpsest")
vim.cmd.edit("pump.py")
local buf, win = vim.api.nvim_get_current_buf(), vim.api.nvim_get_current_win()
wait("attached", function()
  local running = vim.lsp.get_clients({ bufnr = buf, name = "palimpsest" })[1]
  return running and running.initialized
end)

---@param title string
---@param diagnostics? table[]
local function act(title, diagnostics)
  vim.api.nvim_set_current_win(win)
  vim.api.nvim_win_set_cursor(win, { 5, 4 })
  vim.lsp.buf.code_action({
    apply = true,
    context = { diagnostics = diagnostics or {} },
    range = title == "Ask about selection" and { start = { 4, 0 }, ["end"] = { 5, 3 } } or nil,
    filter = function(action)
      return action.title == title
    end,
  })
end

---@param expected string
local function drafts(expected)
  wait("the draft " .. expected, function()
    local chat = require("palimpsest.chat").current()
    return chat and chat.input and chat.input:text() == expected
  end)
end

it("explains what the cursor is in, as a draft in the panel that is not sent", function()
  act("Explain")
  drafts("Explain @pump.py:4-6.")
  eq(t.chat().input.buf, vim.api.nvim_get_current_buf())
  eq({}, t.chat().messages)
end)

it("puts the next one behind what is typed", function()
  act("Write tests")
  drafts("Explain @pump.py:4-6.\n\nWrite tests for @pump.py:4-6.")
  t.chat().input:set_text("")
  act("Ask about selection")
  drafts("About @pump.py:4-5: ")
end)

it("fixes a problem that another server found", function()
  t.chat().input:set_text("")
  act("Fix this problem", {
    {
      range = { start = { line = 4, character = 4 }, ["end"] = { line = 4, character = 8 } },
      message = "pump is odd",
      source = "lint",
    },
  })
  drafts("Fix this problem in @pump.py:4-6.\n\n> pump is odd [lint]")
end)

it("asks what the draft asks, when it is sent", function()
  t.script({ text = "The pump is at 18." })
  t.send("Explain @pump.py:4-6, the gate.")
  shows("The pump is at 18.")
  t.idle()
end)

it("takes a command of one's own as a draft", function()
  t.send("/re-view the pump")
  drafts("Review the pump twice.")
  t.chat().input:set_text("")
end)

for _, each in ipairs(vim.json.decode(table.concat(vim.fn.readfile("slash.json"), "\n"))) do
  it("answers " .. each.typed, function()
    t.script({ text = "Still at 18." })
    t.send(each.typed)
    wait("answered: " .. each.typed, function()
      local chat = t.chat()
      local is_said = t.transcript(chat):find(each.expected, 1, true) or t.status():find(each.expected, 1, true)
      return chat.activity == nil and is_said
    end)
    t.idle()
    t.chat().input:set_text("")
  end)
end

it("attaches what the terminal shows, and says when none is open", function()
  t.send("Why @terminal?")
  wait("refused", function()
    return t.status():find("No terminal is open", 1, true)
      or t.transcript(t.chat()):find("No terminal is open", 1, true)
  end)
  wait("kept", function()
    return t.chat().input:text() == "Why @terminal?"
  end)
  t.chat().input:set_text("")
  vim.api.nvim_set_current_win(win)
  vim.cmd("terminal echo zqxpumps")
  local terminal = vim.api.nvim_get_current_buf()
  wait("the program has written", function()
    return table.concat(vim.api.nvim_buf_get_lines(terminal, 0, -1, false), "\n"):find("zqxpumps", 1, true)
  end)
  vim.cmd.buffer(buf)
  t.send("Why @terminal?")
  shows("attached: terminal")
  t.idle()
end)

it("asks about lines that are selected in a terminal, and attaches them", function()
  vim.api.nvim_set_current_win(win)
  vim.cmd("terminal printf 'zqxone\\nzqxtwo\\nzqxthree\\n'")
  local terminal = vim.api.nvim_get_current_buf()
  wait("the program has written", function()
    return table.concat(vim.api.nvim_buf_get_lines(terminal, 0, -1, false), "\n"):find("zqxthree", 1, true)
  end)
  vim.cmd("1,2Palimpsest ask What is this?")
  wait("sent", function()
    return #t.chat().messages > 0 and t.transcript(t.chat()):find("What is this?", 1, true)
  end)
  shows("attached: terminal")
  t.idle()
  vim.api.nvim_set_current_win(win)
  vim.cmd.buffer(terminal)
  vim.cmd("2,3Palimpsest attach")
  eq({ type = "selection", path = "terminal", text = "zqxtwo\nzqxthree" }, t.chat().input.attachments[1].attachment)
  t.chat().input:take()
  vim.api.nvim_set_current_win(win)
  vim.cmd.buffer(buf)
  vim.cmd("1,2Palimpsest ask And this?")
  shows("attached: pump.py:1-2")
  t.idle()
end)

t.done()
