-- Sign-in replaces a generated session id. The id before stays reserved for as long as the session lives, and is the
-- tag that lock and count of turns go by.
ALTER TABLE sessions ADD COLUMN former_id TEXT;
CREATE UNIQUE INDEX sessions_by_former_id ON sessions (former_id) WHERE former_id IS NOT NULL;

DROP TRIGGER guard_turns_end;
CREATE TRIGGER guard_turns_end AFTER DELETE ON sessions
BEGIN
  DELETE FROM guard_turns
  WHERE session_id = coalesce(old.former_id, old.session_id) AND ends_at <= old.expires_at;
END;

-- Generated ids of before were not replaced at sign-in, so somebody else may know them: the next message that brings
-- the token signs in again.
UPDATE sessions SET metadata = '{}', bound_user_id = NULL, bound_person = NULL WHERE generated = 1;

-- The person whose token in the address made the stream theirs: only they may read it.
ALTER TABLE streams ADD COLUMN reader TEXT;
