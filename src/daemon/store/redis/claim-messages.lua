-- include: claiming
-- Claims queues whose first message is due, and begins an attempt with it. KEYS[1]: the places of all queues. ARGV: JSON
-- of what is wanted, as `claim_messages` takes it, a list. Returns for each a list: owner and fields of each message.
local all = {}
for place, wanted in ipairs(cjson.decode(ARGV[3])) do
  all[place] = claim_messages(wanted)
end
return all
