-- include: claiming
-- Claims queues whose first message is due, and begins an attempt at that message. KEYS[1]: the places of all queues.
-- ARGV: JSON list of arguments for `claim_messages`. Returns a list for each of them: owner and fields of each message.
local all = {}
for place, wanted in ipairs(cjson.decode(ARGV[3])) do
  all[place] = claim_messages(wanted)
end
return all
