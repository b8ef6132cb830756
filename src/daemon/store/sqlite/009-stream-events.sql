-- The last event of a stream is found among its events, so that adding an event does not change the row of its stream.
ALTER TABLE streams DROP COLUMN last_event;
