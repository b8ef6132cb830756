-- The question at the end of a stored reply, JSON; null: it asks for nothing.
ALTER TABLE inbox ADD COLUMN question TEXT;
