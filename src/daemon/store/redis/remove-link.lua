-- include: links
-- Deletes a link. KEYS[1]: the link; KEYS[2]: other facts about it. ARGV: whether a value is expected (1 or 0), that
-- value. Returns 1, or 0 if there is no link or its value is different.
if not value or (ARGV[3] == '1' and value ~= ARGV[4]) then
  return 0
end
call('DEL', KEYS[1])
forget_beside()
return 1
