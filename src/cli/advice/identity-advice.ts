import type { AdviceTable } from './advice-table.ts';

/** The tool decides whether a call then uses the default credentials or is not made. */
const NOT_AS_PERSON = 'No call used the credentials of a person';
/** Advice for an expired token. */
export const RENEW =
  'Have the person sign in again and send a new token with the next message (clients renew a token 5 minutes before it expires). A linked person must link again.';

/** Reasons that the token checks report, and reasons why a message acts for a person or for nobody. */
export const IDENTITY_ADVICE: AdviceTable = {
  // Tokens (agentd-token(1))
  'JWT Malformed': {
    happened: `The value sent as a token is not a JWT: it does not have three parts, or they cannot be decoded. ${NOT_AS_PERSON}.`,
    todo: 'Check what the client sends: the token alone, without quotes, after `Bearer `. `agentd token verify` shows which part is wrong.',
  },
  'Algorithm Not Allowed': {
    happened: `The token is not signed with the algorithm of JWT_ALGORITHM. ${NOT_AS_PERSON}.`,
    todo: 'Have the site sign with that algorithm, or set JWT_ALGORITHM to the one that the site uses.',
  },
  'Invalid Signature': {
    happened: `The token was not signed with the configured key. ${NOT_AS_PERSON}.`,
    todo: 'Compare JWT_SECRET_KEY (RS256: JWT_PUBLIC_KEY or JWT_JWKS_URL) with the key of the site. `agentd config show` shows where the value comes from.',
  },
  'Missing Required Claims': {
    happened: `The token lacks \`sub\`, \`email\` or \`exp\`. ${NOT_AS_PERSON}.`,
    todo: 'Have the site add all three claims. `agentd token verify` shows the claims of a token.',
  },
  'Token Expired': { happened: `The token has expired. ${NOT_AS_PERSON}.`, todo: RENEW },
  'Token Not Yet Valid': {
    happened: `The \`nbf\` or \`iat\` of the token is in the future. ${NOT_AS_PERSON}.`,
    todo: 'Compare the clocks of the site and of this machine. JWT_CLOCK_SKEW_SECONDS allows a difference.',
  },
  'Invalid Issuer': {
    happened: `The \`iss\` of the token is not JWT_ISSUER. ${NOT_AS_PERSON}.`,
    todo: 'Set JWT_ISSUER to the `iss` that the site writes, or correct the site.',
  },
  'Invalid Audience': {
    happened: `The \`aud\` of the token does not contain JWT_AUDIENCE. ${NOT_AS_PERSON}.`,
    todo: 'Set JWT_AUDIENCE to an `aud` that the site writes, or correct the site.',
  },

  // Who a message acts for
  valid_token: { happened: 'The token passed all checks.' },
  token_bound: { happened: 'The tools act for the person of the token.' },
  stored_context: { happened: 'The token of an earlier message of this session was used.' },
  no_token: {
    happened: `The message had no token. ${NOT_AS_PERSON}.`,
    todo: 'Do nothing if the person was not signed in. Otherwise check that the page sends the token with the message.',
  },
  no_link: {
    happened: `The user of the channel is not linked to a person. ${NOT_AS_PERSON}.`,
    todo: 'Do nothing if the user does not need a link. Otherwise have the user link their account, or link it with `agentd link`. `agentd link list` shows all links.',
  },
  link_of_other_sender: {
    happened: `The user id is linked, but it belonged to another sender when it was linked. ${NOT_AS_PERSON}.`,
    todo: 'If the user id (for example, a phone number) has a new owner, the new owner must link it again. If it still belongs to the same person, remove the link with `agentd link remove`, and have the person link again.',
  },
  invalid_token: {
    happened: `The token is invalid. ${NOT_AS_PERSON}.`,
    todo: 'Check the token with `agentd token verify -`.',
  },
  signed_out: {
    happened: `The client reported that the person signed out (jwt_token: null). ${NOT_AS_PERSON}.`,
    todo: 'Do nothing if the person did sign out. Otherwise find out why the page sends null.',
  },
  stored_token_expired: {
    happened: `The token of an earlier message has expired. ${NOT_AS_PERSON}.`,
    todo: RENEW,
  },
  stored_token_unreadable: {
    happened: `No encryption key decrypts the stored token. ${NOT_AS_PERSON}.`,
    todo: 'When you change TOKEN_ENCRYPTION_KEY, keep the old key in it after the new one, separated by a comma.',
  },
  client_chosen_session: {
    happened: `The client chose the id of the session, so every message must bring its own token. ${NOT_AS_PERSON}.`,
    todo: 'Send the token with every message. Or leave `session_id` out of the first message and use the id in the reply.',
  },
  other_sender: {
    happened: `The stored token of this session came from another user. ${NOT_AS_PERSON}.`,
    todo: 'Do nothing: each person in a shared conversation signs in separately.',
  },
  no_request_context: {
    happened: `A tool made a call outside of a message. ${NOT_AS_PERSON}.`,
    todo: 'Change the tool: it must call the API while its message is being answered, not later.',
  },
  session_not_found: {
    happened: `The session ended while its message was being answered. ${NOT_AS_PERSON}.`,
    todo: 'Do nothing if it was ended on purpose. Otherwise check SESSION_TTL_SECONDS.',
  },
  session_unreachable: {
    happened: `The session could not be read. ${NOT_AS_PERSON}.`,
    todo: 'Run `agentd doctor`: its line `store` says what is wrong with STATE_DIR or REDIS_URL.',
  },
  no_jwt_context: {
    happened: `The session has no token. ${NOT_AS_PERSON}, and a call that needs a person was not made.`,
    todo: 'Do nothing if the person did not want to sign in. Otherwise have them sign in, or link their account.',
    only_if_refused: true,
  },
};
