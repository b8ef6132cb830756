-- The last event of a stream is found among its events: telling one changes the row of its stream no more.
ALTER TABLE streams DROP COLUMN last_event;
