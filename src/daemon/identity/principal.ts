import type { Claims, NoCredential, PersonKey } from './identity.ts';

/** Who a message acts for: a person, whose stored token the tools may use; or nobody, with the reason. */
export type Principal =
  | { person: PersonKey; claims: Claims }
  | {
      person: null;
      reason: NobodyReason;
      token_reason?: string;
      /** Whether the sign-in has expired and the person was already notified. */
      expiry_notified?: boolean;
    };

export type NobodyReason =
  | NoCredential
  | 'invalid_token'
  | 'signed_out'
  | 'stored_token_expired'
  /** No encryption key opens the stored token. */
  | 'stored_token_unreadable'
  /** The client chose the session's id, so only a message that comes with the token is trusted. */
  | 'client_chosen_session'
  /** The stored context comes from another channel user. */
  | 'other_sender';
