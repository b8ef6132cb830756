-- Records that a daemon is running, and the layout of the store, and deletes records whose time has passed. KEYS[1]: the ids of daemons, ordered by
-- when their records end; KEYS[2]: the facts about each daemon. ARGV: id, ttl, JSON.
for _, id in ipairs(call('ZRANGEBYSCORE', KEYS[1], '-inf', now)) do
  call('HDEL', KEYS[2], id)
  call('ZREM', KEYS[1], id)
end
call('SET', key('layout', nil, 'number'), LAYOUT, 'NX')
call('ZADD', KEYS[1], now + tonumber(ARGV[4]), ARGV[3])
call('HSET', KEYS[2], ARGV[3], now .. ' ' .. ARGV[5])
call('PEXPIREAT', KEYS[1], now + tonumber(ARGV[4]))
call('PEXPIREAT', KEYS[2], now + tonumber(ARGV[4]))
return 1
