-- include: links
-- Finds a link. KEYS[1]: the link; KEYS[2]: other facts about it. Returns null, or value, end, alias, person of the
-- alias, and whether the person of the link was notified that its token has expired.
if not value then
  return false
end
local beside = alive(KEYS[2]) and call('HMGET', KEYS[2], 'alias', 'alias_person', 'notified') or { false, false, false }
return { value, link_ends(), beside[1], beside[2], beside[3] == redis.sha1hex(value) and 1 or 0 }
