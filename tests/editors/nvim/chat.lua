local t = require("harness")
local it, eq, shows, wait = t.it, t.eq, t.shows, t.wait
local told = t.notifications()

--- What the server is asked, with its parameters.
local requests = {}
local client = require("palimpsest.client")
local request = client.request
client.request = function(root, method, params, callback)
  table.insert(requests, { method = method, params = params })
  return request(root, method, params, callback)
end
local function asked(method)
  return vim.tbl_filter(function(each)
    return each.method == method
  end, requests)
end

it("loads nothing of the plugin before it is used", function()
  vim.api.nvim_exec2("source " .. vim.env.TEST_PALIMPSEST_PLUGIN .. "/plugin/palimpsest.lua", {})
  eq(nil, package.loaded["palimpsest.chat"])
  eq(nil, package.loaded["palimpsest.commands"])
end)

vim.cmd.edit("notes.txt")
vim.fn.inputsecret = function() -- luacheck: ignore 122
  return "sk-another-0123456789"
end
local notes = vim.api.nvim_get_current_buf()
local notes_win = vim.api.nvim_get_current_win()

it("opens a panel for the folder of the file, with the cursor in the input", function()
  t.open()
  eq(vim.fs.normalize(vim.uv.fs_realpath(".")), vim.uv.fs_realpath(t.chat().root))
  eq(t.chat().input.buf, vim.api.nvim_get_current_buf())
  eq(3, #vim.api.nvim_tabpage_list_wins(0))
end)

it("says in an empty chat where one is, which model answers and what one may ask, and takes a question", function()
  shows("Ask about this folder")
  shows("Model: gpt-4o by openai")
  local chat = t.chat()
  local line = t.wait("the starter", function()
    return vim.fn.indexof(vim.api.nvim_buf_get_lines(chat.view.buf, 0, -1, false), "v:val =~ 'Explain @notes.txt'") + 1
  end)
  vim.api.nvim_set_current_win(chat.windows.transcript)
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  vim.api.nvim_feedkeys(vim.keycode("<CR>"), "mx", false)
  eq("Explain @notes.txt.", chat.input:text())
  eq(chat.input.buf, vim.api.nvim_get_current_buf())
  chat.input:set_text("")
end)

it("sets a key that the service accepts", function()
  t.answering({
    palimpsest_key_service = function(services)
      return vim.iter(services):find(function(service)
        return service.provider == "openai"
      end)
    end,
    palimpsest_key_action = function(items)
      return items[1]
    end,
  })
  vim.cmd("Palimpsest key")
  wait("the server has it", function()
    return #asked("palimpsest/credentials/set") == 1 and told[#told]:find("environment", 1, true)
  end)
  eq("sk-another-0123456789", asked("palimpsest/credentials/set")[1].params.key)
end)

it("shows the file to the server, so that what is unsaved counts", function()
  wait("attached", function()
    return #vim.lsp.get_clients({ bufnr = notes, name = "palimpsest" }) == 1
  end)
end)

it("streams an answer in its place while the user edits elsewhere, and tells plugins that draw it", function()
  local n_told = 0
  vim.api.nvim_create_autocmd("TextChanged", {
    buffer = t.chat().view.buf,
    callback = function()
      n_told = n_told + 1
    end,
  })
  t.script({ text = "first piece, second piece, third piece" })
  t.order("hold 2")
  t.send("tell me")
  shows("first piece")
  t.lacks("third piece")
  eq("", t.chat().input:text())
  vim.api.nvim_set_current_win(notes_win)
  vim.api.nvim_win_set_cursor(notes_win, { 2, 3 })
  vim.api.nvim_feedkeys("iedited ", "x", false)
  t.order("let-go")
  t.idle()
  shows("first piece, second piece, third piece")
  eq(notes_win, vim.api.nvim_get_current_win())
  eq({ 2, 9 }, vim.api.nvim_win_get_cursor(notes_win))
  eq("a ledited eaf of lettuce", vim.api.nvim_buf_get_lines(notes, 1, 2, false)[1])
  eq(1, t.count("first piece"))
  eq(1, t.count("tell me"))
  assert(n_told > 0)
end)

it("leaves a cursor in the transcript where it is, and follows the end only from the end", function()
  local win = t.chat().windows.transcript
  t.script({ text = ("line\n"):rep(50) .. "end of it" })
  vim.api.nvim_win_set_cursor(win, { 1, 0 })
  t.chat():say("a long one")
  vim.api.nvim_win_set_cursor(win, { 1, 0 })
  shows("end of it")
  t.idle()
  eq({ 1, 0 }, vim.api.nvim_win_get_cursor(win))
  vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(t.chat().view.buf), 0 })
  t.send("once more")
  shows("You said: once more")
  t.idle()
  eq(vim.api.nvim_buf_line_count(t.chat().view.buf), vim.api.nvim_win_get_cursor(win)[1])
end)

it("stops an answer and keeps what had come", function()
  t.script({ text = "kept of it, and never this" })
  t.order("hold 3")
  t.send("too long")
  shows("kept of it")
  vim.cmd("Palimpsest stop")
  t.idle()
  t.order("let-go")
  shows("kept of it")
  t.lacks("never this")
  local last = t.chat().view.entries[#t.chat().view.entries]
  assert(last.ending:find("You stopped this answer", 1, true), last.ending)
  shows("You stopped this answer")
  assert(t.status():find("Stopped", 1, true), t.status())
end)

it("continues a stopped answer behind what had come", function()
  t.script({ text = "the rest of it" })
  vim.cmd("Palimpsest continue")
  shows("the rest of it")
  t.idle()
  shows("kept of it")
end)

it("retries: the answer before is folded away, and the new one stands", function()
  t.script({ text = "a better answer" })
  vim.cmd("Palimpsest retry")
  shows("a better answer")
  t.idle()
  local labels = vim.tbl_values(t.chat().view.labels)
  assert(
    vim.iter(labels):any(function(label)
      return label:find("taken back", 1, true)
    end),
    vim.inspect(labels)
  )
end)

it("goes on from the last piece when the panel is made anew while an answer comes", function()
  t.script({ text = "alpha beta gamma delta epsilon" })
  t.order("hold 3")
  t.send("greek")
  shows("alpha beta")
  local before = #asked("palimpsest/turn/attach")
  local chat = t.chat()
  vim.api.nvim_buf_delete(chat.view.buf, { force = true })
  vim.api.nvim_buf_delete(chat.input.buf, { force = true })
  vim.cmd("Palimpsest open")
  shows("alpha beta")
  vim.cmd("Palimpsest reload")
  wait("attached", function()
    return #asked("palimpsest/turn/attach") == before + 1
  end)
  assert(asked("palimpsest/turn/attach")[before + 1].params.afterSeq >= 0)
  t.order("let-go")
  shows("alpha beta gamma delta epsilon")
  t.idle()
  eq(1, t.count("alpha"))
  eq(1, t.count("epsilon"))
end)

it("folds a tool's call and result, without marks in the text", function()
  t.script({ text = "Reading.", calls = { { name = "read_file", arguments = { path = "notes.txt" } } } })
  t.script({ text = "It was read." })
  t.send("look into it")
  shows("It was read.")
  t.idle()
  local chat = t.chat()
  local line = wait("the call", function()
    for number, label in pairs(chat.view.labels) do
      if label:find("Read notes.txt", 1, true) then
        return number
      end
    end
  end)
  vim.api.nvim_win_call(chat.windows.transcript, function()
    vim.cmd.redraw()
    eq(line, vim.fn.foldclosed(line))
    assert(vim.fn.foldclosedend(line) > line)
    eq("▸ Read notes.txt · 3 lines", vim.fn.foldtextresult(line))
  end)
  t.lacks("{{{")
  assert(t.transcript(chat):find("\n    .*heads of lettuce"), "what the tool said is indented")
end)

it("says in one line why a tool did nothing, and not what the model is told to do then", function()
  local part = { type = "tool", name = "propose_edit", text = '{"path": "a.py"}', is_error = true }
  part.result = "The user said no. Do not try it in another way."
  assert(vim.endswith(require("palimpsest.chat.tool_line").of(part), "failed: The user said no."))
end)

it("shows the newest line of what a tool writes while it runs", function()
  local transcript, tool_line = require("palimpsest.chat.transcript"), require("palimpsest.chat.tool_line")
  local parts = {}
  local function take(kind, text)
    transcript.take(parts, { type = kind, callId = "a", name = "run_command", text = text })
  end
  take("toolCall")
  take("toolArguments", '{"command": ["pytest"]}')
  take("toolStart")
  take("toolOutput", ("é"):rep(5000) .. "\ncollected 3\ntwo of ")
  take("toolOutput", "three\n")
  assert(vim.endswith(tool_line.of(parts[1]), "· two of three"), tool_line.of(parts[1]))
  assert(#parts[1].output <= 4000 and vim.fn.strchars(parts[1].output) > 1900, "whole characters are left")
  take("toolResult", "3 passed\n[Exit status 0.]")
  assert(not tool_line.of(parts[1]):find("two of three", 1, true))
end)

it("shows what a model wrote harmlessly", function()
  local title = vim.o.titlestring
  t.script({ text = "\27]0;owned\7 \226\128\174txt.exe vim: set titlestring=owned :" })
  t.send("be evil")
  shows("⟨U+001B⟩]0;owned⟨U+0007⟩ ⟨U+202E⟩txt.exe")
  t.idle()
  vim.cmd("doautocmd BufWinEnter")
  eq(title, vim.o.titlestring)
  eq(false, vim.bo[t.chat().view.buf].modeline)
  eq(false, vim.bo[t.chat().view.buf].modifiable)
end)

it("shows a table of an answer in columns, and adds nothing to its text", function()
  local written = "| Name | Width |\n|--|:--|\n| 表 | 2 |\n| a\\|b | `long` |\n```\n| x |\n|---|\n| longer |\n```"
  t.script({ text = written })
  t.send("a table")
  shows("longer")
  t.idle()
  local chat, shown = t.chat(), {}
  assert(t.transcript(chat):find(written, 1, true), t.transcript(chat))
  local from = vim.fn.matchbufline(chat.view.buf, "^| Name", 1, "$")[1].lnum - 1
  local namespace = vim.api.nvim_get_namespaces().palimpsest_transcript
  local marks = vim.api.nvim_buf_get_extmarks(chat.view.buf, namespace, { from, 0 }, -1, { details = true })
  for row = from + 3, from, -1 do
    local line = vim.api.nvim_buf_get_lines(chat.view.buf, row, row + 1, false)[1]
    for n = #marks, 1, -1 do
      local _, at, column, details = unpack(marks[n])
      if at == row and details.virt_text_pos == "inline" then
        line = line:sub(1, column) .. details.virt_text[1][1] .. line:sub(column + 1)
      end
    end
    table.insert(shown, 1, line)
  end
  eq({ "| Name | Width  |", "|------|:-------|", "| 表   | 2      |", "| a\\|b | `long` |" }, shown)
  local inside = vim.iter(marks):any(function(mark)
    return mark[2] > from + 3 and mark[4].virt_text_pos == "inline"
  end)
  assert(not inside, "code was padded")
end)

it("runs a slash command without making a message of it", function()
  local n_messages = #t.chat().messages
  t.send("/usage")
  shows("`/usage`")
  eq(n_messages, #t.chat().messages)
  t.send("/nosuchthing")
  shows("There is no command /nosuchthing")
end)

it("shows how full the context is, and nothing in a title counts as an item", function()
  vim.cmd("Palimpsest rename 100%{v:lua.os.exit(3)} done")
  local winbar = wait("the bar", function()
    local bar = vim.wo[t.chat().windows.transcript].winbar
    return bar:find("done", 1, true) and bar:find("%%%%{") and bar
  end)
  local drawn = vim.api.nvim_eval_statusline(winbar, {
    winid = t.chat().windows.transcript,
    use_winbar = true,
    maxwidth = 200,
  })
  assert(drawn.str:find("100%{v:lua.os.exit(3)} done", 1, true), drawn.str)
  assert(drawn.str:find("▱", 1, true), drawn.str)
  assert(require("palimpsest").statusline():find("%%%)"), require("palimpsest").statusline())
end)

it("keeps what is typed and not sent as the conversation's draft", function()
  local chat = t.chat()
  chat.input:set_text("half a tho")
  vim.cmd("Palimpsest close")
  wait("saved", function()
    return #asked("palimpsest/draft/set") > 0
  end)
  local first = chat.conversation_id
  vim.api.nvim_buf_delete(chat.input.buf, { force = true })
  vim.cmd("Palimpsest open")
  chat:show(nil)
  eq("", chat.input:text())
  chat:show(first)
  wait("the draft is back", function()
    return chat.input:text() == "half a tho"
  end)
  chat.input:set_text("")
end)

it("completes files behind @ and commands behind /, and attaches what was chosen", function()
  local chat = t.chat()
  vim.api.nvim_set_current_win(chat.windows.input)
  chat.input:set_text("😀 what is in @note")
  vim.api.nvim_win_set_cursor(0, { 1, #"😀 what is in @note" })
  local complete = require("palimpsest.chat.input").complete
  vim.cmd("startinsert!")
  vim.api.nvim_win_set_cursor(0, { 1, #"😀 what is in @note" - 1 })
  vim.api.nvim_feedkeys("a" .. vim.keycode("<C-x><C-u><C-y>"), "x", false)
  wait("completed", function()
    return chat.input:text() == "😀 what is in @notes.txt"
  end)
  t.send(chat.input:text())
  t.idle()
  local sent = asked("palimpsest/chat")
  eq({ { type = "file", path = "notes.txt" } }, sent[#sent].params.attachments)
  chat.input:set_text("/summ")
  vim.api.nvim_set_current_win(chat.windows.input)
  vim.api.nvim_win_set_cursor(0, { 1, 5 })
  vim.cmd("startinsert!")
  eq(0, complete(1))
  eq("/summarize", vim.trim(complete(0)[1].word))
  vim.cmd.stopinsert()
  chat.input:set_text("")
end)

it("attaches lines of a file, and says what cannot be attached", function()
  vim.api.nvim_set_current_win(notes_win)
  vim.cmd("2,3Palimpsest attach")
  wait("estimated", function()
    local first = t.chat().input.attachments[1]
    return first and first.label:find("notes.txt:2-3 (", 1, true)
  end)
  t.send("about these")
  t.idle()
  shows("attached: notes.txt:2-3")
  vim.fn.writefile({ "KEY=1" }, ".env")
  vim.cmd("Palimpsest attach .env")
  wait("refused", function()
    return #t.chat().input.attachments == 0 and told[#told]
  end)
  vim.fn.delete(".env")
end)

it("gives a message back that was not taken", function()
  local chat = t.chat()
  chat.input:set_text("keep me")
  local conversation = chat.conversation_id
  chat.conversation_id = "no-such-conversation"
  chat:send()
  chat.conversation_id = conversation
  wait("given back", function()
    return chat.input:text() == "keep me"
  end)
  chat.input:set_text("")
end)

it("shows an error of the service and what can be done", function()
  t.script({ status = 401 })
  t.send("without a key")
  wait("ended", function()
    local entry = vim.iter(t.chat().view.entries):find(function(each)
      return each.role == "note" and each.parts[1].text:find("key", 1, true)
    end)
    return entry and not t.chat():is_answering()
  end)
  t.idle()
end)

it("folds the messages for which a summary stands, which can be expanded, undone and redone", function()
  for number = 1, 4 do
    t.send(("question %d "):format(number) .. ("and much more about it "):rep(40))
    shows(("question %d "):format(number))
    t.idle()
  end
  vim.cmd("Palimpsest summarize")
  wait("folded", function()
    return #t.chat().summaries > 0
      and vim.iter(vim.tbl_values(t.chat().view.labels)):any(function(label)
        return label:find("summary", 1, true)
      end)
  end)
  local chat = t.chat()
  vim.api.nvim_set_current_win(chat.windows.transcript)
  vim.api.nvim_win_set_cursor(0, { 3, 0 })
  local n = #chat.summaries
  local function leaves(command, n_summaries)
    vim.cmd("Palimpsest " .. command)
    wait(command, function()
      return #chat.summaries == n_summaries
    end)
  end
  leaves("expand", n - 1)
  leaves("undo", n)
  shows("Undone: ")
  leaves("redo", n - 1)
  shows("Redone: ")
end)

it("forks from the message under the cursor, and picks a conversation", function()
  local chat, first = t.chat(), t.chat().conversation_id
  vim.api.nvim_set_current_win(chat.windows.transcript)
  vim.api.nvim_win_set_cursor(0, { 3, 0 })
  vim.cmd("Palimpsest fork")
  wait("forked", function()
    return chat.conversation_id ~= first and #chat.messages == 2
  end)
  local questions = t.answering({
    palimpsest_conversation = function(items)
      return vim.iter(items):find(function(info)
        return info.conversationId == first
      end)
    end,
  })
  vim.cmd("Palimpsest pick")
  wait("back", function()
    return chat.conversation_id == first and #chat.messages > 2
  end)
  eq(2, #questions[1].lines)
end)

it("lists conversations in the quickfix list, and entering one shows it", function()
  local chat, first = t.chat(), t.chat().conversation_id
  chat:show(nil)
  vim.api.nvim_set_current_win(notes_win)
  vim.cmd("Palimpsest conversations")
  wait("listed", function()
    return #vim.fn.getqflist() == 2
  end)
  for number, item in ipairs(vim.fn.getqflist()) do
    if vim.api.nvim_buf_get_name(item.bufnr):find(first, 1, true) then
      vim.cmd("cc " .. number)
    end
  end
  wait("shown", function()
    return chat.conversation_id == first and #chat.messages > 2
  end)
  vim.cmd.cclose()
end)

it("lists facts in the quickfix list, or says that the server keeps none", function()
  local n_told = #told
  vim.fn.setqflist({})
  vim.cmd("Palimpsest facts")
  wait("answered", function()
    return #vim.fn.getqflist() > 0 or #told > n_told
  end)
end)

it("completes its sub-commands, and names them when one is wrong", function()
  eq(
    { "readers", "recover", "redo", "regenerate", "reload", "rename", "restart", "retry", "revert" },
    vim.fn.getcompletion("Palimpsest re", "cmdline")
  )
  vim.cmd("Palimpsest nosuch")
  assert(told[#told]:find("There is no :Palimpsest nosuch", 1, true))
end)

it("leaves a window to what its user opened there, and shows the chat beside it", function()
  t.open()
  local win = t.chat().windows.transcript
  vim.api.nvim_set_current_win(win)
  vim.cmd.edit("notes.txt")
  local opened = vim.api.nvim_get_current_buf()
  t.script({ text = "Said all the same." })
  t.send("typed below a file")
  shows("Said all the same.")
  t.idle()
  eq(false, t.chat():is_open())
  vim.cmd("Palimpsest ask and now")
  eq(true, t.chat():is_open())
  eq(opened, vim.api.nvim_win_get_buf(win))
  shows("and now")
  t.idle()
  vim.cmd("Palimpsest close")
  eq(opened, vim.api.nvim_win_get_buf(win))
  vim.api.nvim_win_close(win, true)
end)

it("refuses an option that does not exist, and leaves the others as they were", function()
  local ok, problem = pcall(require("palimpsest").setup, { window = { layuot = "float" } })
  eq(false, ok)
  assert(problem:find("palimpsest.window.layuot: there is no such option", 1, true), problem)
  eq(false, (pcall(require("palimpsest").setup, { window = { layout = "sideways" } })))
  eq("split", require("palimpsest.config").current.window.layout)
end)

for _, layout in ipairs({ "float", "full" }) do
  it("opens and closes as " .. layout, function()
    local config = require("palimpsest.config")
    vim.cmd("Palimpsest close")
    local n_wins, n_tabs = #vim.api.nvim_list_wins(), #vim.api.nvim_list_tabpages()
    config.current.window.layout = layout
    vim.cmd("Palimpsest open")
    eq(n_wins + 2, #vim.api.nvim_list_wins())
    eq(layout == "full" and n_tabs + 1 or n_tabs, #vim.api.nvim_list_tabpages())
    vim.cmd("Palimpsest close")
    eq(n_wins, #vim.api.nvim_list_wins())
    eq(n_tabs, #vim.api.nvim_list_tabpages())
  end)
end

t.done()
