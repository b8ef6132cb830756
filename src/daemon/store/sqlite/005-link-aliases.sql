-- `alias` is another id of a link's user, which the sender of a message must have. `alias_person` is the person for
-- whom it was bound. `found_by` is the same id if a search for it finds this link. A search for an id finds at most one
-- link.
ALTER TABLE links ADD COLUMN alias        TEXT;
ALTER TABLE links ADD COLUMN alias_person TEXT;
ALTER TABLE links ADD COLUMN found_by     TEXT;

CREATE UNIQUE INDEX links_by_alias ON links (found_by) WHERE found_by IS NOT NULL;
