local t = require("harness")
local it, eq, shows, wait = t.it, t.eq, t.shows, t.wait
local told = t.notifications()
local client = require("palimpsest.client")

local choice = "keep"
t.answering({
  palimpsest_recovery = function(items)
    return items[1]
  end,
  palimpsest_recovery_action = function(items)
    return vim.iter(items):find(choice)
  end,
})

vim.cmd.edit("notes.txt")
local notes = vim.api.nvim_get_current_buf()
t.open()

local function die_while_answering(question)
  t.script({ text = question .. ": this much had come, and the rest had not" })
  t.order("hold 2")
  t.send(question)
  shows(question .. ": this")
  local before = assert(client.get(t.chat().root)).id
  t.order("kill-server")
  wait("another server runs", function()
    local now = client.get(t.chat().root)
    return now and now.initialized and now.id ~= before
  end)
  t.order("let-go")
end

local function was_told(words)
  return vim.iter(told):any(function(message)
    return message:find(words, 1, true)
  end)
end

it("starts a killed server again, shows it the files, and tells of the half answer without a prompt", function()
  die_while_answering("first")
  wait("told", function()
    return was_told('The last answer in "first" broke off.') and was_told("/recover lists such answers")
  end)
  wait("the end of it is told", function()
    local entries = t.chat().view.entries
    return entries[#entries].ending and entries[#entries].ending:find("was closed during", 1, true)
  end)
  shows("first: this")
  eq(1, t.count("first: this"))
  wait("attached", function()
    return #vim.lsp.get_clients({ bufnr = notes, name = "palimpsest" }) == 1
  end)
end)

it("is not told again about an answer that was kept, and goes on", function()
  vim.cmd("Palimpsest recover")
  wait("kept", function()
    return not t.chat().reading and t.chat().stream == nil
  end)
  t.script({ text = "all of the second" })
  t.send("second")
  shows("all of the second")
  t.idle()
  vim.cmd("Palimpsest recover")
  wait("told", function()
    return was_told("No answer has broken off")
  end)
end)

it("offers what broke off by :Palimpsest recover too, and continues it", function()
  die_while_answering("third")
  choice = "continue"
  t.script({ text = "and here is the rest" })
  wait("read", function()
    return t.chat().stream == nil and #t.chat().messages > 0 and not t.chat().reading
  end)
  vim.cmd("Palimpsest recover")
  shows("and here is the rest")
  t.idle()
end)

it("leaves a server stopped that the user has stopped", function()
  local running = assert(client.get(t.chat().root))
  running:stop()
  wait("gone", function()
    return not vim.lsp.get_client_by_id(running.id)
  end)
  eq(nil, client.get(t.chat().root))
  eq("", t.status())
end)

it("starts the server anew when it is needed", function()
  vim.cmd("Palimpsest reload")
  wait("runs", function()
    return client.get(t.chat().root) and not t.chat().reading
  end)
  shows("and here is the rest")
end)

t.done()
