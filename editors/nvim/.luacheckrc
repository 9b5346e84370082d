std = "luajit"
read_globals = { "vim" }
globals = { "vim.opt", "vim.g", "vim.b", "vim.w", "vim.o", "vim.bo", "vim.wo", "vim.ui", "vim.notify" }
max_line_length = 120
exclude_files = { "**/protocol.lua" }
