--- Where the chat stands on the screen: the transcript and, below it, the input.
local config = require("palimpsest.config")
local text = require("palimpsest.text")

local M = {}

---@class palimpsest.Windows
---@field transcript integer
---@field input integer
---@field buffers { transcript: integer, input: integer }
---@field group integer

-- Columns: a chat beside the files is at least this wide, and it is below them where that leaves too little.
local LEAST_BESIDE, LEAST_SCREEN = 42, 80

local function amount(value, whole)
  return math.max(1, math.floor(value < 1 and value * whole or value))
end

--- Whether a window still shows the chat: its user may have opened something else there, and that is theirs.
---@param windows palimpsest.Windows
---@param which "transcript"|"input"
local function shows_chat(windows, which)
  local win = windows[which]
  return win ~= nil and vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == windows.buffers[which]
end

---@param win integer
---@param values table<string, any>
local function set_options(win, values)
  for name, value in pairs(values) do
    vim.api.nvim_set_option_value(name, value, { win = win, scope = "local" })
  end
end

local TRANSCRIPT_OPTIONS = {
  wrap = true,
  linebreak = true,
  number = false,
  relativenumber = false,
  signcolumn = "no",
  foldcolumn = "0",
  spell = false,
  list = false,
  breakindent = true,
  breakindentopt = "list:-1", -- What is wrapped in a list stands below its first word, by 'formatlistpat'.
  conceallevel = 0, -- Nothing a model wrote is hidden, such as where a link leads.
  foldenable = true,
  foldmethod = "expr",
  foldexpr = "v:lua.require'palimpsest.chat.view'.level(v:lnum)",
  foldtext = "v:lua.require'palimpsest.chat.view'.label()",
  foldlevel = 0,
}

local INPUT_OPTIONS = {
  wrap = true,
  linebreak = true,
  number = false,
  relativenumber = false,
  signcolumn = "no",
  winfixheight = true,
}

---@param transcript integer Buffer.
---@return integer win
local function open_transcript(transcript)
  local window = config.current.window
  if window.layout == "full" then
    vim.cmd.tabnew()
    local win, empty = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
    vim.api.nvim_win_set_buf(win, transcript)
    vim.api.nvim_buf_delete(empty, { force = true })
    return win
  elseif window.layout == "float" then
    local width = math.min(amount(window.width, vim.o.columns), vim.o.columns - 2)
    local height = math.min(amount(window.height, vim.o.lines), vim.o.lines - 4)
    return vim.api.nvim_open_win(transcript, true, {
      relative = "editor",
      row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
      col = math.floor((vim.o.columns - width) / 2),
      width = width,
      height = math.max(2, height - window.input_height - 3),
      border = "rounded",
    })
  end
  local side = window.side
  local is_beside = side == "left" or side == "right"
  if is_beside and vim.o.columns < LEAST_SCREEN then
    is_beside, side = false, "below"
  end
  return vim.api.nvim_open_win(transcript, true, {
    split = side,
    win = -1,
    width = is_beside and math.max(LEAST_BESIDE, amount(window.width, vim.o.columns)) or nil,
    height = not is_beside and amount(window.height, vim.o.lines) or nil,
  })
end

---@param input integer Buffer.
---@param above integer Window.
---@return integer win
local function open_input(input, above)
  local height = config.current.window.input_height
  local outer = vim.api.nvim_win_get_config(above)
  if outer.relative ~= "" then
    return vim.api.nvim_open_win(input, true, {
      relative = "editor",
      row = outer.row + outer.height + 2,
      col = outer.col,
      width = outer.width,
      height = height,
      border = "rounded",
    })
  end
  return vim.api.nvim_open_win(input, true, { split = "below", win = above, height = height })
end

--- Names a buffer that is no file after its folder, such as `palimpsest://shop/chat`.
---@param buf integer
---@param root string
---@param what string
function M.name_buffer(buf, root, what)
  local name = ("palimpsest://%s/%s"):format(text.one_line(vim.fs.basename(root)), what)
  if not pcall(vim.api.nvim_buf_set_name, buf, name) then
    vim.api.nvim_buf_set_name(buf, ("%s/%d"):format(name, buf)) -- Another folder has the same name.
  end
end

--- The cursor is in the input afterwards.
---@param transcript integer Buffer.
---@param input integer Buffer.
---@return palimpsest.Windows
function M.open(transcript, input)
  local windows = {
    transcript = open_transcript(transcript),
    buffers = { transcript = transcript, input = input },
  }
  set_options(windows.transcript, TRANSCRIPT_OPTIONS)
  local fill = vim.go.fillchars
  set_options(windows.transcript, { fillchars = (fill ~= "" and fill .. "," or "") .. "fold: ,eob: " })
  windows.input = open_input(input, windows.transcript)
  set_options(windows.input, INPUT_OPTIONS)
  vim.api.nvim_win_set_cursor(windows.transcript, { vim.api.nvim_buf_line_count(transcript), 0 })
  windows.group = vim.api.nvim_create_augroup("palimpsest_windows_" .. windows.transcript, {})
  vim.api.nvim_create_autocmd("WinClosed", {
    group = windows.group,
    pattern = { tostring(windows.transcript), tostring(windows.input) },
    callback = vim.schedule_wrap(function()
      M.close(windows)
    end),
  })
  return windows
end

---@param windows palimpsest.Windows|nil
---@return boolean
function M.is_open(windows)
  return windows ~= nil and shows_chat(windows, "transcript") and shows_chat(windows, "input")
end

--- The buffers stay.
---@param windows palimpsest.Windows|nil
function M.close(windows)
  if not windows then
    return
  end
  pcall(vim.api.nvim_del_augroup_by_id, windows.group)
  for _, which in ipairs({ "input", "transcript" }) do
    local win = windows[which]
    -- The last window of Neovim cannot be closed.
    if shows_chat(windows, which) and not pcall(vim.api.nvim_win_close, win, true) then
      vim.api.nvim_win_call(win, function()
        vim.cmd.enew()
      end)
    end
  end
end

return M
