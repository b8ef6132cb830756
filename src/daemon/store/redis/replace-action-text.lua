-- Replaces a text of an action. KEYS[1]: the action. ARGV: field, the text as it was read, the new text. Returns 1, or
-- 0 if the field has changed.
if not alive(KEYS[1]) or call('HGET', KEYS[1], ARGV[3]) ~= ARGV[4] then
  return 0
end
call('HSET', KEYS[1], ARGV[3], ARGV[5])
return 1
