-- The question at the end of a stored reply, as JSON; null if there is none.
ALTER TABLE inbox ADD COLUMN question TEXT;
