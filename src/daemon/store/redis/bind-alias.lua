-- include: links
-- Records the alias of a link. KEYS[1]: the link; KEYS[2]: other facts about it. ARGV: the value of the link as it was
-- read, alias, person, 1 to write or 0 to check only. Returns 1, or 0 if the link has a different value, or a different
-- alias of the same person.
if not value or value ~= ARGV[3] then
  return 0
end
local found = alive(KEYS[2]) and call('HMGET', KEYS[2], 'alias', 'alias_person') or { false, false }
if found[2] == ARGV[5] and found[1] ~= ARGV[4] then
  return 0
end
if ARGV[6] == '1' then
  if not alive(KEYS[2]) then
    forget_beside()
  end
  call('HSET', KEYS[2], 'alias', ARGV[4], 'alias_person', ARGV[5])
  keep_beside()
end
return 1
