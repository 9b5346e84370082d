--- Tells the user of a request that failed, in the server's words.
---@param err lsp.ResponseError
return function(err)
  vim.notify("Palimpsest: " .. err.message, vim.log.levels.ERROR)
end
