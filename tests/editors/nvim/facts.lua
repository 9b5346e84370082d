local t = require("harness")
local it, eq, wait = t.it, t.eq, t.wait
local client = require("palimpsest.client")
t.notifications()

local FACT = "Gross prices are the net price with tax."
local SOURCE = {
  '"""Prices."""',
  "",
  "RATE = 0.19",
  "",
  "",
  "def gross(net):",
  '    """With tax."""',
  "    return net * (1 + RATE)",
  "",
  "",
  "def net(gross):",
  "    return gross / (1 + RATE)",
}
vim.fn.writefile(SOURCE, "prices.py")
require("palimpsest.config").current.diagnostics = { underline = false }
vim.lsp.enable("palimpsest")
vim.cmd.edit("prices.py")
local buf = vim.api.nvim_get_current_buf()
local win = vim.api.nvim_get_current_win()

--- What the server said last of the folder's facts, and how often Neovim was given diagnostics since.
local facts, n_shown = { open = 0, stale = 0 }, 0
client.subscribe(function(event, _, params)
  if event == "facts" then
    facts, n_shown = params, 0
  end
end)
vim.api.nvim_create_autocmd("DiagnosticChanged", {
  buffer = buf,
  callback = function()
    n_shown = n_shown + 1
  end,
})

local function result(method, params)
  local answer
  client.request(client.root(buf), method, params, function(err, found)
    answer = { err = err, found = found }
  end)
  wait(method, function()
    return answer
  end)
  assert(not answer.err, vim.inspect(answer.err))
  return answer.found
end

--- A fact on the function `gross`.
local function pin()
  local params = { content = FACT, fileUri = vim.uri_from_bufnr(buf), startLine = 5, endLine = 7 }
  return result("palimpsest/facts/pin", params).id
end

---@param n integer
---@return vim.Diagnostic[]
local function diagnostics_until(n)
  return wait(n .. " diagnostics", function()
    local found = vim.diagnostic.get(buf)
    return #found == n and found
  end)
end

---@param said string
local function change(said)
  vim.bo[buf].undolevels = vim.bo[buf].undolevels -- What is done before is undone by itself.
  vim.api.nvim_buf_set_lines(buf, 7, 8, false, { "    return " .. said })
end

--- The function differs, in the buffer and on disk, and Neovim was told so by the server that has read the disk.
local function make_stale(said)
  vim.api.nvim_set_current_win(win)
  change(said)
  vim.cmd("silent write")
  wait("seen on disk", function()
    return facts.stale == 1 and n_shown > 0
  end)
  return diagnostics_until(1)[1]
end

---@param command string Of the action that is taken where the fact stands.
local function act(command)
  vim.api.nvim_set_current_win(win)
  vim.api.nvim_win_set_cursor(win, { 6, 0 })
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(action)
      return action.command ~= nil and action.command.command == command
    end,
  })
end

it("shows the file to the server without a chat", function()
  wait("attached", function()
    local running = vim.lsp.get_clients({ bufnr = buf, name = "palimpsest" })[1]
    return running and running.initialized
  end)
  pin()
  eq({}, vim.diagnostic.get(buf))
end)

it("marks the place of a fact when it changes in the buffer, where it stands by then", function()
  vim.bo[buf].undolevels = vim.bo[buf].undolevels
  vim.api.nvim_buf_set_lines(buf, 0, 0, false, { "# moved" })
  vim.api.nvim_buf_set_lines(buf, 8, 9, false, { "    return round(net * (1 + RATE), 2)" })
  local found = diagnostics_until(1)[1]
  eq({ 6, "palimpsest", vim.diagnostic.severity.WARN }, { found.lnum, found.source, found.severity })
  assert(found.message:find(FACT, 1, true), found.message)
end)

it("shows it as the user set", function()
  eq(false, vim.diagnostic.config(nil, vim.diagnostic.get(buf)[1].namespace).underline)
end)

it("takes the mark away when the change is undone", function()
  vim.cmd("silent undo")
  eq(SOURCE, vim.api.nvim_buf_get_lines(buf, 0, -1, false))
  diagnostics_until(0)
  eq(0, facts.stale)
end)

it("keeps the mark when the change is written", function()
  local found = make_stale("round(net * (1 + RATE), 2)")
  eq(5, found.lnum)
  eq(1, facts.stale)
end)

it("lists a fact with its place in the quickfix list", function()
  vim.cmd("Palimpsest facts")
  local item = wait("listed", function()
    return vim.fn.getqflist()[1]
  end)
  eq({ buf, 6, 8, "W", "may be out of date: " .. FACT }, { item.bufnr, item.lnum, item.end_lnum, item.type, item.text })
  eq(1, #vim.fn.getqflist())
  vim.cmd.cclose()
end)

-- A pinned fact is in the user's own words: no update says it anew.
for number, command in ipairs({ "verify", "pin" }) do
  it("takes the mark away by the code action " .. command, function()
    if facts.stale == 0 then
      make_stale(("round(net * (1 + RATE), %d)"):format(number + 2))
    end
    act("palimpsest.fact." .. command)
    diagnostics_until(0)
    wait("told", function()
      return facts.stale == 0
    end)
    eq(1, facts.open)
  end)
end

it("lists the facts of a lens", function()
  vim.api.nvim_set_current_win(win)
  vim.fn.setqflist({})
  vim.lsp.codelens.refresh({ bufnr = buf })
  local lens = wait("the lens", function()
    return vim.lsp.codelens.get(buf)[1]
  end)
  eq({ 5, "1 fact" }, { lens.range.start.line, lens.command.title })
  vim.api.nvim_win_set_cursor(win, { 6, 0 })
  vim.lsp.codelens.run()
  wait("listed", function()
    return #vim.fn.getqflist() == 1
  end)
  eq(FACT, vim.fn.getqflist()[1].text)
  vim.cmd.cclose()
end)

it("takes the mark away by the code action forget, and the fact with it", function()
  make_stale("net * (RATE + 1)")
  -- Neovim's own way to ask what a server wants to know.
  vim.fn.inputlist = function(lines) -- luacheck: ignore 122
    assert(lines[1]:find("Forget this fact", 1, true), lines[1])
    return 1
  end
  act("palimpsest.fact.forget")
  diagnostics_until(0)
  eq({}, result("palimpsest/facts/list", {}).facts)
end)

--- Takes the action `ask`, and waits for its draft.
---@return string draft
local function ask()
  local before = t.chat().conversation_id
  act("palimpsest.fact.ask")
  return wait("the draft", function()
    local chat = t.chat()
    return chat.conversation_id ~= before and chat.info and not chat.reading and chat.input:text()
  end)
end

it("asks about a fact in a conversation of its own, as a draft that is not sent", function()
  pin()
  make_stale("net + net * RATE")
  local draft = ask()
  assert(draft:find(FACT, 1, true), draft)
  assert(draft:find("@prices.py", 1, true), draft)
  eq(t.chat().input.buf, vim.api.nvim_get_current_buf())
  eq({}, t.chat().messages)
  eq(draft, t.chat().info.draft)
  eq(1, #vim.diagnostic.get(buf))
end)

it("keeps what is typed when a fact is asked about", function()
  local chat, first = t.chat(), t.chat().conversation_id
  chat.input:set_text("half a thought")
  local draft = ask()
  assert(not draft:find("half a thought", 1, true), draft)
  chat:show(first)
  wait("the draft of the first", function()
    return chat.input:text() == "half a thought"
  end)
  chat:show(nil)
  chat.input:set_text("of no conversation yet")
  eq("of no conversation yet\n\n" .. draft, ask())
  eq(3, #result("palimpsest/conversation/list", { folder = chat.folder }).conversations)
end)

t.done()
