-- Writes values if each key still has the version that was read. KEYS: hashes. ARGV: for each key its version (empty if
-- there is none), the new version, the new value, when it expires (empty: never). Returns 1, or 0 if a key has a
-- different version, in which case nothing is written.
for place, at in ipairs(KEYS) do
  local version = alive(at) and call('HGET', at, 'version') or ''
  if version ~= ARGV[4 * place - 1] then
    return 0
  end
end
for place, at in ipairs(KEYS) do
  call('HSET', at, 'version', ARGV[4 * place], 'value', ARGV[4 * place + 1])
  if ARGV[4 * place + 2] ~= '' then
    call('PEXPIREAT', at, ARGV[4 * place + 2])
  end
end
return 1
