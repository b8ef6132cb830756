type Fields = Record<string, unknown>;

/** The answer of `get_user` to a look-up that succeeded. */
export type UserLookUp =
  | { user: Fields; sign_in_needed?: false }
  /** Several users match, but none of them has exactly this address. */
  | { users: Fields[]; sign_in_needed?: false }
  | { found: false; sign_in_needed?: false; message: string }
  /** There was no user token: `user` has public fields at most. */
  | { sign_in_needed: true; message: string; user?: Fields };
