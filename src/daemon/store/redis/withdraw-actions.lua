-- include: actions
-- Withdraws waiting actions: one action, or a set of them. KEYS[1]: the action or the set. ARGV: `id`|`set`, the id,
-- the person whose actions are kept (empty if none are kept).
if ARGV[3] == 'id' then
  withdraw_action(ARGV[4])
  return 1
end
for _, id in ipairs(call('SMEMBERS', KEYS[1])) do
  local person = call('HGET', action_key(id), 'person')
  if not person or person ~= ARGV[5] then
    withdraw_action(id)
  end
end
return 1
