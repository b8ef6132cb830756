import type { Claims, NoCredential, PersonKey } from './identity.ts';

/** Who a message acts for: a person whose stored token its tools may use, or nobody, and why. */
export type Principal =
  | { person: PersonKey; claims: Claims }
  | {
      person: null;
      reason: NobodyReason;
      token_reason?: string;
      /** The sign-in has expired, and the person was notified before. */
      expiry_notified?: boolean;
    };

export type NobodyReason =
  | NoCredential
  | 'invalid_token'
  | 'signed_out'
  | 'stored_token_expired'
  /** No encryption key opens it. */
  | 'stored_token_unreadable'
  /** The client chose the session's id, so only a message that brings the token is trusted. */
  | 'client_chosen_session'
  /** The stored context was brought by another channel user. */
  | 'other_sender';
