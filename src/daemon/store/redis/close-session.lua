-- include: claims erased
-- Takes over the claim of a session that will be erased. From now on, a run that is under way can store nothing, and no
-- run can begin until the claim expires. KEYS[1]: the claim. ARGV: owner, tag, id.
claim_take(KEYS[1], ARGV[3])
note_erased(ARGV[4])
note_erased(ARGV[5])
return 1
