/** A stored token, or a text of an action, sealed or not, and the record that contains it. */
export type StoredToken = { token: string } & (
  | { kind: 'link'; key: string }
  /** The tag of the session, and the channel user who brought the token. */
  | { kind: 'session'; tag: string; user_id: string }
  | { kind: 'stream'; stream_id: string }
  | { kind: 'action'; action_id: string; field: 'args' | 'summary' | 'answer' }
);
