-- Records in which shard the records of a name are, if this is not recorded yet. KEYS[1]: the binding. ARGV: shard, how
-- long the binding is remembered in ms, a recorded shard that may be replaced (empty for none). Returns the recorded
-- shard, and how long ago it was recorded in ms.
local found = alive(KEYS[1]) and call('HMGET', KEYS[1], 'shard', 'at') or { false, now }
if not found[1] or found[1] == ARGV[5] then
  found = { ARGV[3], now }
  call('HSET', KEYS[1], 'shard', ARGV[3], 'at', now)
end
call('PEXPIREAT', KEYS[1], now + ARGV[4])
return { found[1], now - found[2] }
