-- include: links
-- Replaces the value of a link with another form of the same token. KEYS[1]: the link; KEYS[2]: other facts about it.
-- ARGV: the value as it was read, the new value. Returns 1, or 0 if the value has changed.
if not value or value ~= ARGV[3] then
  return 0
end
call('SET', KEYS[1], ARGV[4], 'KEEPTTL')
if call('HGET', KEYS[2], 'notified') == redis.sha1hex(value) then
  call('HSET', KEYS[2], 'notified', redis.sha1hex(ARGV[4]))
end
return 1
