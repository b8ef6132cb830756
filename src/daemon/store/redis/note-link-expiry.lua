-- include: links
-- Records that the person of a link was notified that its token has expired. KEYS[1]: the link; KEYS[2]: other facts
-- about it. ARGV: the value of the link as it was read. No effect if the link has a different value now.
if value and value == ARGV[3] then
  call('HSET', KEYS[2], 'notified', redis.sha1hex(value))
  keep_beside()
end
return 1
