-- include: erased
-- Remembers the ids of sessions and turns that were erased. KEYS[1]: any key of the shard. ARGV: the ids.
for place = 3, #ARGV do
  note_erased(ARGV[place])
end
return 1
