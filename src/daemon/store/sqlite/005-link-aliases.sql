-- Another id of a link's user: the one that its sender must have, and for whom it was bound. `found_by` is the
-- same id where it leads to this link, which one id does to one link at most.
ALTER TABLE links ADD COLUMN alias        TEXT;
ALTER TABLE links ADD COLUMN alias_person TEXT;
ALTER TABLE links ADD COLUMN found_by     TEXT;

CREATE UNIQUE INDEX links_by_alias ON links (found_by) WHERE found_by IS NOT NULL;
