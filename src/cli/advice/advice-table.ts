/** The meaning of a reason in a trace, and what the operator can do about it. */
export interface Advice {
  /** What happened, in one sentence. */
  happened: string;
  /** What to do. Absent: nothing needs to be done. */
  todo?: string;
  /** Shown only if the reason caused a refusal. Otherwise another reason in the trace says the same. */
  only_if_refused?: true;
  /**
   * What to do if the request went to a source of tools with an address of its own instead of the business API.
   * `{source}` is the `name` of its entry.
   */
  todo_of_source?: string;
}

/** Advice by reason or error code, as they appear in traces and logs. */
export type AdviceTable = Readonly<Record<string, Advice>>;

/** Advice for a failure that only the log can explain. */
export const REQUEST_LOG = 'Read the log of this request: `agentd logs --request`.';

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
    todo: 'Check what the client sends: the token alone, without quotes, after `Bearer `.',
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
    todo: 'Have the site add all three claims.',
  },
  'Token Expired': { happened: `The token has expired. ${NOT_AS_PERSON}.`, todo: RENEW },
  'Signed Out': {
    happened: `The person has signed out at the site since the token was issued. ${NOT_AS_PERSON}.`,
    todo: 'Do nothing: the person can sign in again.',
  },
  link_code_seen: {
    happened:
      'The message contained a link code in a group. The code was ended, because others have seen it.',
    todo: 'Do nothing: the person can get a new code on the website, and send it in a private chat.',
  },
  link_code_gone: {
    happened:
      'The link code in the message was used, declined or ended before, or another sender had claimed it.',
    todo: 'Have the person get a new code on the website.',
  },
  link_code_blocked: {
    happened:
      'The sender has sent 5 wrong link codes within 10 minutes, so codes of this sender have no effect for an hour.',
    todo: 'Have the person try again after that hour.',
  },
  link_code_invalid_token: {
    happened: 'The token with which the link code was made or confirmed is no longer valid.',
    todo: 'Have the person sign in on the website and get a new code.',
  },
  link_code_other_number: {
    happened:
      'The token of the person has the claim `phone` with another number than the sender of the link code.',
    todo: 'Have the person send the code from that number, or have the site correct the claim.',
  },
  link_code_held_by_another: {
    happened:
      'The number is linked to another person whose token has not expired, and the token of the new person has no claim `phone` that names the number.',
    todo: 'Have the other person end the link on the website, or remove it with `agentd link remove`.',
  },
  'Token Not Yet Valid': {
    happened: `The \`nbf\` or \`iat\` of the token is in the future. ${NOT_AS_PERSON}.`,
    todo: 'Compare the clocks of the site and of this machine. JWT_CLOCK_SKEW_SECONDS allows a difference.',
  },
  'Invalid Issuer': {
    happened: `The \`iss\` of the token is not JWT_ISSUER. ${NOT_AS_PERSON}.`,
    todo: 'Have the site send a token of this issuer. Change JWT_ISSUER only if it does not name the issuer of your site: tokens of any other issuer must stay invalid.',
  },
  'Invalid Audience': {
    happened: `The \`aud\` of the token does not contain JWT_AUDIENCE. ${NOT_AS_PERSON}.`,
    todo: 'Have the site send a token for this audience. Change JWT_AUDIENCE only if it does not name your API: tokens for other applications must stay invalid.',
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
  signed_out_at_site: {
    happened: `The person has signed out at the site since the token was issued. ${NOT_AS_PERSON}.`,
    todo: 'Do nothing: the person can sign in again.',
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
    todo: 'Run `agentd doctor`: its line `store` says what is wrong with STATE_DIR, REDIS_URL or DATABASE_URL.',
  },
  no_jwt_context: {
    happened: `The session has no token. ${NOT_AS_PERSON}, and a call that needs a person was not made.`,
    todo: 'Do nothing if the person did not want to sign in. Otherwise have them sign in, or link their account.',
    only_if_refused: true,
  },
};

const CAPACITY = 'Raise AGENT_CONCURRENCY or add processors. `agentd logs` shows which runs are slow.';

/** Reasons of the steps of a message: sessions, repeats, the loop guard, replies, limits. */
export const MESSAGE_ADVICE: AdviceTable = {
  // Sessions and repeated messages
  found: { happened: 'The session existed.' },
  created: { happened: 'A session was created.' },
  session_changed: {
    happened:
      'While the message waited, somebody signed in to its session, or the session was ended or created again.',
  },
  former_id: {
    happened: "The message used the session's id from before sign-in, with the owner's token.",
    todo: 'Have the client use the `session_id` of the latest reply.',
  },
  former_id_ignored: {
    happened:
      "The message used a session's id from before sign-in, without the owner's token. It was answered in a new session.",
    todo: 'Have the client use the `session_id` of the latest reply. Without the token, the id from before sign-in is refused on purpose: others may know it.',
  },
  session_forbidden: {
    happened: 'The session belongs to another user or person. The message was refused and changed nothing.',
    todo: 'Have the client leave `session_id` out to start its own session, and keep one session per signed-in person.',
  },
  session_ended_meanwhile: {
    happened: 'The session was ended while its message was being answered. The turn was not stored.',
    todo: 'Do nothing if it was ended on purpose.',
  },
  claim_lost: {
    happened:
      'Another daemon took over the message or its session, or an administrator discarded the message. Nothing was sent.',
    todo: 'If nobody discarded the message, look in the log for the reason why this daemon was cut off.',
  },
  no_key: { happened: 'The message has no Idempotency-Key, so a repeat would not be recognized.' },
  replayed: {
    happened: 'The message repeats a message that was already answered; the same answer was sent again.',
  },
  duplicate_in_progress: {
    happened: 'The message was repeated while the first request with this Idempotency-Key was running.',
    todo: 'Have the client wait for the first answer before it repeats a request.',
  },
  idempotency_key_reused: {
    happened: 'The Idempotency-Key was used before, with another body.',
    todo: 'Have the client make a new key for each new message.',
  },

  // The loop guard
  guard_off: { happened: 'LOOP_GUARD_ENABLED is false: the loop guard allows every message.' },
  counted_before: {
    happened:
      'The loop guard has counted an earlier request with the same Idempotency-Key. This repeat does not count.',
  },
  not_counted: {
    happened:
      'The message answers a question, or is the press of a button, so the loop guard does not count it.',
  },
  checked_on_arrival: { happened: 'The loop guard allowed the message when it arrived.' },
  rate_limit: {
    happened:
      'The user sent more than LOOP_GUARD_MAX_MESSAGES within LOOP_GUARD_WINDOW_SECONDS. All messages of the user are blocked for LOOP_GUARD_COOLDOWN_SECONDS.',
    todo: 'If the user is a bot, make sure that it does not answer the replies. A person only has to wait until the cooldown is over: until then, every message is blocked. `agentd guard list` shows who is blocked, and `agentd guard reset` unblocks a user at once.',
  },
  repetition: {
    happened:
      'The user sent the same text LOOP_GUARD_REPEAT_THRESHOLD times within LOOP_GUARD_REPEAT_WINDOW_SECONDS. All messages of the user are blocked for LOOP_GUARD_COOLDOWN_SECONDS.',
    todo: 'If the user is a bot, make sure that it does not answer the replies. If a person repeated a question that got no answer, check the messages before it. Other texts are blocked, too, until the time has passed. `agentd guard reset` unblocks a user at once.',
  },
  turn_limit: {
    happened: 'The session has reached LOOP_GUARD_MAX_TURNS_PER_SESSION turns. It is blocked until it ends.',
    todo: 'Have the client start another session (leave `session_id` out), or unblock this one with `agentd guard reset --session`.',
  },
  loop_guard_blocked: {
    happened: 'The loop guard blocked the message; the client got 429.',
    todo: 'Run `agentd guard list` to see who is blocked.',
  },

  // Replies
  on_stream: { happened: 'The reply is on its event stream, whether or not a client reads it.' },
  in_response: { happened: 'The reply was sent in the response to the request.' },
  sent: { happened: 'The platform accepted the reply.' },
  waiting: {
    happened: 'The message waits for its turn, or for another run after a failed one.',
    todo: 'Do nothing until the next attempt is due, or start it now with `agentd inbox retry`. If nothing happens then, check that a daemon with this channel is running.',
  },
  running: { happened: 'The message is being answered.', todo: 'Look again in a moment.' },
  replied: {
    happened: 'The reply is stored, but the platform has not accepted it yet.',
    todo: 'Do nothing until the next attempt is due, or send the reply now with `agentd inbox retry`.',
  },
  interrupted: {
    happened: 'The daemon died during each attempt.',
    todo: 'Find out in the log why the daemon died, then run `agentd inbox retry` with the id of the message.',
  },
  platform_out_of_reach: {
    happened: 'The reply is stored. It waits because the platform cannot be reached.',
    todo: 'Do nothing: the reply is sent as soon as the platform answers. `agentd status` shows which platform it is, and why.',
  },
  delivery_failed: {
    happened: 'The platform did not accept the reply this time.',
    todo: 'Do nothing as long as another attempt is planned. Once the message has failed, check the platform and the credentials of the channel, then run `agentd inbox retry --failed`.',
  },
  delivery_refused: {
    happened: 'The platform refused the reply permanently.',
    todo: "Read the platform's message: it says which permission the app lacks, or what is wrong with the recipient. `agentd inbox retry` sends the reply again.",
  },
  stopped: { happened: 'The person stopped the answer. The reply is the text up to then.' },
  stream_not_found: {
    happened: 'The requested stream does not exist, or has expired.',
    todo: 'Have the client open its stream within SSE_STREAM_TTL_SECONDS, or send the message again.',
  },
  token_missing: {
    happened: 'A stream was opened without a token, and SSE_REQUIRE_TOKEN requires one.',
    todo: 'Have the client send the token with the message, or open the stream with credentials so that its cookie is sent.',
  },
  reply_cut: {
    happened: 'The reply was longer than allowed; the rest was cut off.',
    todo: 'Ask for shorter answers in AGENT_INSTRUCTIONS.',
  },

  // Limits and the daemon itself
  rate_limited: {
    happened: 'The client sent more requests than the rate limit allows; it got 429.',
    todo: 'Have the client obey Retry-After. The limits are RATE_LIMIT_TOKEN_MAX and RATE_LIMIT_ANONYMOUS_MAX. Behind a proxy, set TRUST_PROXY.',
  },
  queue_full: {
    happened: 'AGENT_QUEUE_MAX messages were already waiting; the client got 503.',
    todo: CAPACITY,
  },
  queue_wait: {
    happened:
      'The message waited for its session or for a run longer than AGENT_QUEUE_WAIT_SECONDS; the client got 503.',
    todo: CAPACITY,
  },
  stopping: {
    happened: 'The daemon was stopping; the client got 503.',
    todo: 'Raise SHUTDOWN_GRACE_SECONDS if the daemon should wait longer for running answers.',
  },
  unavailable: {
    happened: 'The daemon could not serve the request; the client got 503.',
    todo: 'Run `agentd doctor`: its line `store` says what is wrong with STATE_DIR, REDIS_URL or DATABASE_URL. See the log of this request, too.',
  },
  internal_error: {
    happened: 'An unexpected error occurred; the client got 500.',
    todo: 'Read the log of this request (`agentd logs --request`), and report it: this is a defect.',
  },
  truncated: { happened: 'There were more lines than a trace can contain.' },
};
