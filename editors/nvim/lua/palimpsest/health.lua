--- `:checkhealth palimpsest`: each piece that is missing, and what to do about it.
local client = require("palimpsest.client")
local methods = require("palimpsest.protocol").methods

local M = {}

local WAIT_MS = 10000

local function check_neovim()
  vim.health.start("Neovim")
  if vim.fn.has("nvim-0.11") == 1 then
    vim.health.ok(("Neovim %s"):format(tostring(vim.version())))
  else
    vim.health.error(("Neovim %s is too old."):format(tostring(vim.version())), "Install Neovim 0.11 or newer.")
  end
  for _, language in ipairs({ "markdown", "markdown_inline" }) do
    if vim.treesitter.language.add(language) then
      vim.health.ok(("The tree-sitter parser %s is installed."):format(language))
    else
      vim.health.warn(
        ("The tree-sitter parser %s is missing: answers are highlighted by the old syntax file."):format(language),
        "Neovim includes it; check that its parser folder is in 'runtimepath'."
      )
    end
  end
end

---@return boolean
local function check_executable()
  vim.health.start("Server")
  local path, problem = client.executable()
  if not path then
    vim.health.error(problem, {
      "Install Palimpsest so that its command is in PATH.",
      'Or name it: require("palimpsest").setup({ cmd = { "/path/to/palimpsest", "serve", "--stdio" } })',
    })
    return false
  end
  local cmd = vim.lsp.config[client.NAME].cmd
  if type(cmd) == "function" then
    vim.health.info("The server is started by a function.")
    return true
  end
  local ok, done = pcall(function()
    return vim.system(vim.list_extend(vim.deepcopy(cmd), { "--version" }), { text = true }):wait(WAIT_MS)
  end)
  if ok and done.code == 0 then
    vim.health.ok(("%s (%s)"):format(vim.trim(done.stdout), path))
  else
    vim.health.warn(("%s did not print its version."):format(path), "Run it in a terminal to see its output.")
  end
  return true
end

---@param root string
---@return vim.lsp.Client|nil
local function check_client(root)
  local running = client.get(root)
  if not running then
    vim.health.warn(("No server runs for %s."):format(root), ":Palimpsest starts it.")
    return nil
  end
  local is_ready = vim.wait(WAIT_MS, function()
    return running.initialized == true
  end, 20)
  if not is_ready then
    vim.health.error("The server was started and has not answered yet.", "Look at " .. vim.lsp.get_log_path())
    return nil
  end
  local about = running.server_info or {}
  vim.health.ok(("The server %s %s runs for %s."):format(about.name or "", about.version or "", root))
  local n_attached = vim.tbl_count(running.attached_buffers)
  if n_attached > 0 then
    vim.health.ok(("It sees %d open %s."):format(n_attached, n_attached == 1 and "file" or "files"))
  else
    vim.health.info("It sees no open file yet. It sees the folder's files once they are opened.")
  end
  local experimental = (running.server_capabilities or {}).experimental
  if not (experimental and experimental.palimpsest) then
    vim.health.error("The started program does not speak Palimpsest's protocol.", "Look at `cmd` in your settings.")
    return nil
  end
  return running
end

---@param root string
local function check_model(root)
  vim.health.start("Model")
  local status, problem = client.request_sync(root, methods.ModelStatusRequest, {}, WAIT_MS)
  if not status then
    vim.health.error("The server did not report its model's status: " .. (problem or ""))
    return
  end
  local model = status.model
  if model.isAvailable then
    vim.health.ok(("%s by %s, a window of %d tokens."):format(model.name, model.provider, model.windowTokens))
  else
    vim.health.error(("%s by %s cannot be used."):format(model.name, model.provider), model.hint)
  end
  if model.provider == "offline" then
    vim.health.warn("No model is configured: answers are quotes from your files and the conversation.", {
      ":Palimpsest key adds a key; so does `palimpsest login PROVIDER` in a terminal.",
    })
  end
  if not model.isAvailable then
    vim.health.info(":Palimpsest key adds a key, :Palimpsest model chooses a model.")
  end
  if status.calibration.tokenizer == "bytes" then
    vim.health.warn("No tokenizer could be loaded: tokens are counted by bytes.")
  end
  if status.lastError then
    vim.health.warn(("Its newest turn in this folder failed: %s."):format(status.lastError))
  end
end

function M.check()
  check_neovim()
  if not check_executable() then
    return
  end
  local chat = require("palimpsest.chat").current()
  local root = chat and chat.root or client.root() or vim.fs.normalize(assert(vim.uv.cwd()))
  if check_client(root) then
    check_model(root)
  end
end

return M
