-- include: links
-- Notes that the person of a link was told that its token has expired. KEYS[1]: the link; KEYS[2]: what is known besides.
-- ARGV: the value. No effect if it has another one.
if value and value == ARGV[3] then
  call('HSET', KEYS[2], 'notified', redis.sha1hex(value))
  keep_beside()
end
return 1
