-- The number of the last event is read from the events of a stream. So adding an event does not change the stream's
-- row.
ALTER TABLE streams DROP COLUMN last_event;
