-- Reads hashes and their versions. KEYS: the hashes. Returns the time, then version and value of each hash; null and
-- null if there is none.
local found = { now }
for place, at in ipairs(KEYS) do
  local version = alive(at) and call('HMGET', at, 'version', 'value') or { false, false }
  found[2 * place], found[2 * place + 1] = version[1], version[2]
end
return found
