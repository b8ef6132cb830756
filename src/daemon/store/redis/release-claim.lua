-- include: claims
-- Ends a claim; no effect if it is lost. KEYS[1]: the claim. ARGV: owner.
if claim_held(KEYS[1], ARGV[3]) then
  call('DEL', KEYS[1])
end
return 1
