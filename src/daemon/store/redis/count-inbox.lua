-- How many messages have not ended, and how many have failed. KEYS[1]: all messages; KEYS[2]: ended messages; KEYS[3]:
-- failed messages.
return { call('ZCARD', KEYS[1]) - call('ZCARD', KEYS[2]), call('ZCARD', KEYS[3]) }
