-- The loop guard stores the messages of a user as one list. Its counters live for minutes and begin anew; the turns of
-- sessions are kept.
DELETE FROM guard_log;
