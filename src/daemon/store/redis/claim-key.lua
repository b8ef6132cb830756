-- include: claims keys
-- Claims an idempotency key if it is new. KEYS[1]: its claim. ARGV: key, fingerprint, owner; with an empty owner, the
-- key is only looked up. Returns the result of `look_key`.
local found = look_key(ARGV[3], ARGV[4])
if found[1] == 'new' and ARGV[5] ~= '' then
  claim_take(KEYS[1], ARGV[5])
  call('HSET', KEYS[1], 'fingerprint', ARGV[4])
  call('HDEL', KEYS[1], 'counted')
end
return found
