--- The buffer that shows a transcript: lines are replaced where they differ, so that cursors and folds stay.
local tables = require("palimpsest.chat.tables")
local text = require("palimpsest.text")
local texts = require("palimpsest.texts")
local transcript = require("palimpsest.chat.transcript")
local window = require("palimpsest.chat.window")

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace("palimpsest_transcript")
local FOLD_GROUPS = { ["✗"] = "PalimpsestFailed" }
local HEADER_GROUPS = { user = "PalimpsestUser", assistant = "PalimpsestAnswer", note = "PalimpsestNote" }

---@class palimpsest.View
---@field buf integer
---@field entries palimpsest.Entry[]
---@field levels table<integer, string|integer>
---@field labels table<integer, string>
local View = {}
View.__index = View

---@type table<integer, palimpsest.View>
local by_buffer = {}

---@param root string
---@return palimpsest.View
function M.create(root)
  require("palimpsest.highlights").define()
  local buf = vim.api.nvim_create_buf(false, true)
  local view = setmetatable({ buf = buf, entries = {}, levels = {}, labels = {} }, View)
  by_buffer[buf] = view
  vim.b[buf].palimpsest_root = root
  window.name_buffer(buf, root, texts.buffers.chat)
  local options = vim.bo[buf]
  options.buftype, options.bufhidden, options.swapfile, options.modeline = "nofile", "hide", false, false
  options.undolevels, options.modifiable = -1, false
  options.formatlistpat = [[^\s*\%([-*+]\|\d\+[.)]\)\s\+]]
  vim.treesitter.language.register("markdown", "palimpsest")
  options.filetype = "palimpsest"
  if not pcall(vim.treesitter.start, buf, "markdown") then
    options.syntax = "markdown"
  end
  vim.api.nvim_create_autocmd("BufWipeout", {
    buffer = buf,
    callback = function()
      by_buffer[buf] = nil
    end,
  })
  return view
end

function View:is_valid()
  return vim.api.nvim_buf_is_valid(self.buf)
end

--- Windows whose cursor is at the end: they follow what is added.
---@private
function View:_followers()
  local last = vim.api.nvim_buf_line_count(self.buf)
  return vim.tbl_filter(function(win)
    return vim.api.nvim_win_get_cursor(win)[1] >= last
  end, vim.fn.win_findbuf(self.buf))
end

---@private
---@param change fun()
function View:_change(change)
  local followers = self:_followers()
  vim.bo[self.buf].modifiable = true
  local ok, problem = pcall(change)
  vim.bo[self.buf].modifiable = false
  vim.bo[self.buf].modified = false
  if not ok then
    error(problem, 0)
  end
  local last = vim.api.nvim_buf_line_count(self.buf)
  for _, win in ipairs(followers) do
    vim.api.nvim_win_set_cursor(win, { last, 0 })
  end
  -- Neovim says so of the current buffer only; plugins that draw Markdown wait for it.
  vim.api.nvim_exec_autocmds("TextChanged", { buffer = self.buf, modeline = false })
end

---@private
---@param lines string[]
function View:_set_lines(lines)
  local old = vim.api.nvim_buf_get_lines(self.buf, 0, -1, false)
  local first, n_old, n_new = 1, #old, #lines
  while first <= n_old and first <= n_new and old[first] == lines[first] do
    first = first + 1
  end
  while n_old >= first and n_new >= first and old[n_old] == lines[n_new] do
    n_old, n_new = n_old - 1, n_new - 1
  end
  if n_old < first and n_new < first then
    return
  end
  self:_change(function()
    vim.api.nvim_buf_set_lines(self.buf, first - 1, n_old, false, vim.list_slice(lines, first, n_new))
  end)
end

---@private
---@param folds palimpsest.Fold[]
function View:_set_folds(folds)
  local levels, labels = {}, {}
  for _, fold in ipairs(folds) do
    for line = fold.first, fold.last do
      levels[line] = fold.level
    end
  end
  for _, fold in ipairs(folds) do
    levels[fold.first] = ">" .. fold.level
    labels[fold.first] = fold.label
  end
  self.labels = labels
  if not vim.deep_equal(levels, self.levels) then
    self.levels = levels
    for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
      -- Setting it has the levels asked for again; open folds stay open.
      vim.wo[win][0].foldmethod = "expr"
    end
  end
end

--- Whether a plugin draws Markdown, and its tables with it.
local function draws_tables()
  return package.loaded["render-markdown"] ~= nil or package.loaded["markview"] ~= nil
end

---@private
function View:_decorate()
  vim.api.nvim_buf_clear_namespace(self.buf, NAMESPACE, 0, -1)
  for _, entry in ipairs(self.entries) do
    if entry.has_header then
      local line = entry.start + (entry.has_gap and 1 or 0)
      local about = entry.id and ("#%d"):format(entry.id) or ""
      if entry.stamp then
        about = about .. "  " .. text.local_time(entry.stamp)
      end
      vim.api.nvim_buf_set_extmark(self.buf, NAMESPACE, line, 0, {
        line_hl_group = HEADER_GROUPS[entry.role],
        virt_text = { { about, "PalimpsestAbout" } },
        virt_text_pos = "right_align",
      })
    end
    if entry.role == "assistant" and not entry.is_running and not draws_tables() then
      entry.padding = entry.padding or tables.padding(entry.lines)
      for _, each in ipairs(entry.padding) do
        vim.api.nvim_buf_set_extmark(self.buf, NAMESPACE, entry.start + each.line - 1, each.column, {
          virt_text = { { each.fill } },
          virt_text_pos = "inline",
        })
      end
    end
    if entry.ending then
      vim.api.nvim_buf_set_extmark(self.buf, NAMESPACE, entry.start + #entry.lines - 1, 0, {
        line_hl_group = "PalimpsestEnding",
      })
    end
    for line = entry.starters and entry.starters.first or 1, entry.starters and entry.starters.last or 0 do
      vim.api.nvim_buf_set_extmark(self.buf, NAMESPACE, line - 1, 0, { line_hl_group = "PalimpsestStarter" })
    end
    if entry.starters then
      vim.api.nvim_buf_set_extmark(self.buf, NAMESPACE, 0, 0, { line_hl_group = "PalimpsestTitle" })
    end
  end
end

--- Shows exactly these entries.
---@param entries palimpsest.Entry[]
function View:show(entries)
  if not self:is_valid() then
    return
  end
  local lines, folds = transcript.layout(entries)
  local function is_empty()
    return self.entries[1] ~= nil and self.entries[1].starters ~= nil
  end
  local was_empty = is_empty()
  self.entries = entries
  self:_set_lines(lines)
  -- What an empty chat says is read from its top, a conversation from its end.
  if was_empty ~= is_empty() then
    for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
      vim.api.nvim_win_call(win, function()
        vim.fn.winrestview({ topline = 1, lnum = was_empty and vim.fn.line("$") or 1, col = 0 })
      end)
    end
  end
  self:_set_folds(folds)
  self:_decorate()
end

--- Adds to the last line of the last entry, without looking at the rest.
---@param piece string
function View:append(piece)
  if not self:is_valid() then
    return
  end
  local added = vim.split(text.sanitise(piece), "\n", { plain = true })
  local lines = self.entries[#self.entries].lines --[[@as string[] ]]
  lines[#lines] = lines[#lines] .. added[1]
  for n = 2, #added do
    table.insert(lines, added[n])
  end
  self:_change(function()
    local last = vim.api.nvim_buf_line_count(self.buf) - 1
    local end_col = #vim.api.nvim_buf_get_lines(self.buf, last, last + 1, false)[1]
    vim.api.nvim_buf_set_text(self.buf, last, end_col, last, end_col, added)
  end)
end

---@param line integer Counted from 1.
---@return palimpsest.Entry|nil
function View:entry_at(line)
  for n = #self.entries, 1, -1 do
    if self.entries[n].start < line then
      return self.entries[n]
    end
  end
end

--- For 'foldexpr'.
---@param line integer
---@return string|integer
function M.level(line)
  local view = by_buffer[vim.api.nvim_get_current_buf()]
  return view and view.levels[line] or 0
end

--- For 'foldtext'.
---@return string|[string, string][]
function M.label()
  local view = by_buffer[vim.api.nvim_get_current_buf()]
  local label = view and view.labels[vim.v.foldstart]
  if not label then
    return vim.fn.getline(vim.v.foldstart)
  end
  return { { label, FOLD_GROUPS[vim.fn.strcharpart(label, 0, 1)] or "PalimpsestFold" } }
end

return M
