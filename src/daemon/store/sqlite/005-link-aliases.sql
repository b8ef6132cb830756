-- Another id of a link's user, which its sender must have, and the person for whom it was bound. `found_by` is the same
-- id if it leads to this link. An id leads to at most one link.
ALTER TABLE links ADD COLUMN alias        TEXT;
ALTER TABLE links ADD COLUMN alias_person TEXT;
ALTER TABLE links ADD COLUMN found_by     TEXT;

CREATE UNIQUE INDEX links_by_alias ON links (found_by) WHERE found_by IS NOT NULL;
