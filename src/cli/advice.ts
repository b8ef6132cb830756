import { ERRORS, type ErrorCode } from '../daemon/errors.ts';

/** What a reason in a trace means to the person who asks, and what they can do about it. */
export interface Advice {
  /** What happened, in one sentence. */
  happened: string;
  /** What to do; absent where all is as it should be. */
  todo?: string;
}

const DEFAULT_CREDENTIALS = 'The default credentials were in use';
const RENEW =
  'Have the person sign in again and send a new token with the next message (clients renew a token 5 minutes before its end), or link anew where they are linked.';
const MODEL = 'Look at AGENT_BASE_URL, AGENT_MODEL and AGENT_API_KEY, and at the log of the model server.';
const CAPACITY = 'Raise AGENT_CONCURRENCY or add processors; see in `agentd logs` which runs are slow.';

/**
 * By reason or error code, as they stand in traces and in logs: `agentd explain` shows nothing that is not
 * told here. An entry without `todo` is told in the time line only.
 */
export const ADVICE: Readonly<Record<string, Advice>> = {
  // Tokens (service.md, "Token problems")
  'JWT Malformed': {
    happened: `What came as a token is none: not three parts, or not readable. ${DEFAULT_CREDENTIALS}.`,
    todo: 'See what the client sends: the token alone, unquoted, after `Bearer `. `agentd token verify` shows where it breaks.',
  },
  'Algorithm Not Allowed': {
    happened: `The token is signed with another algorithm than JWT_ALGORITHM. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Have the site sign with the algorithm that JWT_ALGORITHM names, or set that to what the site uses.',
  },
  'Invalid Signature': {
    happened: `The token was signed with another key than the configured one. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Compare JWT_SECRET_KEY (RS256: JWT_PUBLIC_KEY or JWT_JWKS_URL) with the key of the site; `agentd config show` tells where it comes from.',
  },
  'Missing Required Claims': {
    happened: `The token lacks \`sub\`, \`email\` or \`exp\`. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Have the site put all three in; `agentd token verify` shows the claims.',
  },
  'Token Expired': {
    happened: `The token has expired. ${DEFAULT_CREDENTIALS}.`,
    todo: RENEW,
  },
  'Token Not Yet Valid': {
    happened: `The token's \`nbf\` or \`iat\` lies in the future. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Compare the clocks of the site and of this machine; JWT_CLOCK_SKEW_SECONDS grants a difference.',
  },
  'Invalid Issuer': {
    happened: `The token's \`iss\` is not JWT_ISSUER. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Set JWT_ISSUER to what the site writes, or mend the site.',
  },
  'Invalid Audience': {
    happened: `The token's \`aud\` does not hold JWT_AUDIENCE. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Set JWT_AUDIENCE to what the site writes, or mend the site.',
  },

  // Whom a message acts for
  valid_token: { happened: 'The token passed all checks.' },
  token_bound: { happened: "The token's person is whom the tools act for." },
  stored_context: { happened: 'The token of an earlier message of this session is still in use.' },
  no_token: {
    happened: `The message brought no token. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Nothing, if the person was not signed in; else see that the page sends the token with the message.',
  },
  no_link: {
    happened: `The user of the channel is not linked to a person. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Nothing, if they are not meant to be; else have them link, or link them with `agentd link`. `agentd link list` shows who is linked.',
  },
  link_of_other_sender: {
    happened: `The user id is linked, but this sender is not who had it when it was linked. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Has the number got a new owner, they link it for themselves. Is it the same person, remove the link with `agentd link remove`, and have them link anew.',
  },
  invalid_token: {
    happened: `The token is no use. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Check it with `agentd token verify`.',
  },
  signed_out: {
    happened: `The client said 'signed out' (jwt_token: null). ${DEFAULT_CREDENTIALS}.`,
    todo: 'Nothing, if the person did sign out; else see why the page sends null.',
  },
  stored_token_expired: {
    happened: `The token of an earlier message has expired meanwhile. ${DEFAULT_CREDENTIALS}.`,
    todo: RENEW,
  },
  stored_token_unreadable: {
    happened: `No encryption key opens the stored token. ${DEFAULT_CREDENTIALS}.`,
    todo: 'When the key is changed, keep the old one behind the new one, separated by a comma.',
  },
  client_chosen_session: {
    happened: `The client chose the session's id, so a message there must bring its token itself. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Send the token with every message, or leave `session_id` out of the first one and use the id that comes back.',
  },
  other_sender: {
    happened: `The stored token was brought by another user. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Nothing is wrong: each person of a shared conversation signs in on their own.',
  },
  no_request_context: {
    happened: `A tool was called outside of a message. ${DEFAULT_CREDENTIALS}.`,
    todo: 'A tool must call the API while its message is being answered, not later.',
  },
  session_not_found: {
    happened: `The session ended while its message was being answered. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Nothing, if it was ended on purpose; else look at SESSION_TTL_SECONDS.',
  },
  session_unreachable: {
    happened: `The session could not be read. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Look at the store: disk space and permissions of STATE_DIR.',
  },
  no_jwt_context: { happened: 'The session holds no token; the default credentials were used.' },

  // Sessions and repeats
  found: { happened: 'The session was there.' },
  created: { happened: 'A session was begun.' },
  session_changed: {
    happened: 'While the message waited, its session was signed in to, ended or begun anew.',
  },
  former_id: {
    happened: "The message named the session by its id from before sign-in, with the owner's token.",
    todo: 'Have the client use the `session_id` of the latest reply.',
  },
  former_id_ignored: {
    happened:
      "The message named a session by its id from before sign-in, without the owner's token. It was answered in a new session.",
    todo: 'Have the client use the `session_id` of the latest reply. Without the token, the id from before sign-in is refused on purpose: others may know it.',
  },
  session_forbidden: {
    happened:
      'The session belongs to another user or person; the message was refused and touched nothing of it.',
    todo: 'Have the client leave `session_id` out to begin a session of its own, and keep one per signed-in person.',
  },
  session_ended_meanwhile: {
    happened: 'The session was ended while its message was being answered; the turn was not kept.',
    todo: 'Nothing, if it was ended on purpose.',
  },
  claim_lost: {
    happened:
      'Another daemon took the message or its session over, or an administrator discarded the message: nothing was sent.',
    todo: 'Look in the log for why this daemon was cut off, if nobody discarded the message.',
  },
  no_key: { happened: 'No Idempotency-Key: repeats are not looked for.' },
  replayed: { happened: 'A repeat of a message that was answered before: the same answer was sent again.' },
  duplicate_in_progress: {
    happened: 'A repeat came while the first request with this Idempotency-Key was still running.',
    todo: 'Have the client wait for the first answer before it repeats a request.',
  },
  idempotency_key_reused: {
    happened: 'The Idempotency-Key was used before, with another body.',
    todo: 'Have the client make a new key for each new message.',
  },

  // The loop guard
  guard_off: { happened: 'LOOP_GUARD_ENABLED is false: the loop guard lets every message through.' },
  checked_on_arrival: { happened: 'The loop guard let the message through when it arrived.' },
  rate_limit: {
    happened:
      'The user sent more than LOOP_GUARD_MAX_MESSAGES within LOOP_GUARD_WINDOW_SECONDS; nothing of them is let through for LOOP_GUARD_COOLDOWN_SECONDS.',
    todo: 'If the user is a bot, make sure that it does not answer the replies. A person only has to wait: any message is blocked until then. `agentd guard list` shows who is blocked, `agentd guard reset` lets them through at once.',
  },
  repetition: {
    happened:
      'The user sent the same text LOOP_GUARD_REPEAT_THRESHOLD times within LOOP_GUARD_REPEAT_WINDOW_SECONDS; nothing of them is let through for LOOP_GUARD_COOLDOWN_SECONDS.',
    todo: 'If the user is a bot, make sure that it does not answer the replies. If a person repeated a question that got no answer, look at the messages before it. Any other text is blocked too until the time has passed. `agentd guard reset` lets them through at once.',
  },
  turn_limit: {
    happened: 'The session has had LOOP_GUARD_MAX_TURNS_PER_SESSION turns; it is blocked until it ends.',
    todo: 'Have the client begin another session (leave `session_id` out), or let this one go on with `agentd guard reset --session`.',
  },
  loop_guard_blocked: {
    happened: 'The loop guard blocked the message; the client got 429.',
    todo: 'See `agentd guard list`.',
  },

  // Replies
  on_stream: { happened: 'The reply is on its event stream, whether anybody reads it or not.' },
  in_response: { happened: 'The reply left in the response to the request.' },
  sent: { happened: 'The platform has taken the reply.' },
  waiting: {
    happened: 'The message waits for its turn, or for another run after one that failed.',
    todo: 'Nothing, if its time has not come; `agentd inbox retry` has it tried now. Does a daemon run that has the channel?',
  },
  running: {
    happened: 'The message is being answered.',
    todo: 'Look again in a moment.',
  },
  replied: {
    happened: 'The reply is kept, and has yet to be taken by the platform.',
    todo: 'Nothing, if its time has not come; `agentd inbox retry` has it sent now.',
  },
  interrupted: {
    happened: 'The daemon died during each attempt.',
    todo: 'Look in the log for what ended it; then run `agentd inbox retry` with its id.',
  },
  platform_out_of_reach: {
    happened: 'The reply is stored. It waits because the platform is out of reach.',
    todo: 'Nothing: it is sent as soon as the platform answers. `agentd status` shows which platform it is, and why.',
  },
  delivery_failed: {
    happened: 'The platform did not take the reply, for now.',
    todo: 'Nothing, while it is to be sent again. Once it has failed, look at the platform and the credentials of the channel, then run `agentd inbox retry --failed`.',
  },
  delivery_refused: {
    happened: 'The platform refused the reply for good.',
    todo: 'Look at the words of the platform: they name the rights of the app, or the place. `agentd inbox retry` sends the reply again.',
  },
  stopped: { happened: 'The person stopped the answer: the reply is what was said until then.' },
  stream_not_found: {
    happened: 'The stream that was asked for was never there, or had expired.',
    todo: 'Have the client open its stream before SSE_STREAM_TTL_SECONDS have passed, or send the message again.',
  },
  token_missing: {
    happened: 'A stream was opened without any token, and SSE_REQUIRE_TOKEN asks for one.',
    todo: 'Have the client send the token with the message, or open the stream with credentials so that its cookie comes along.',
  },
  reply_cut: {
    happened: 'The reply was longer than a reply may be; the rest was cut off.',
    todo: 'Ask in AGENT_INSTRUCTIONS for shorter answers.',
  },

  // The downstream API
  user_token_refused: {
    happened: "The business API answered 401 to the user's token.",
    todo: 'Does that API trust the same key, issuer and audience as this daemon? See its log for the reason.',
  },
  default_token_refused: {
    happened: 'The business API answered 401 to the default token.',
    todo: 'A new one is fetched once; if it is refused too, look at the rights of the account API_EMAIL.',
  },
  default_credentials_refused: {
    happened: 'The business API does not accept API_EMAIL and API_PASSWORD.',
    todo: 'Set them to an account that the API knows; the test is POST /authentication_token.',
  },
  default_credentials_missing: {
    happened: 'API_EMAIL and API_PASSWORD are not set, so no call is possible without a user token.',
    todo: 'Set both, if visitors who are not signed in should get answers from the business API.',
  },
  default_token_failed: {
    happened: 'The business API could not be signed in to.',
    todo: 'See its log for POST /authentication_token; the answer must hold `token` or `access_token`.',
  },
  timeout: {
    happened: 'The business API did not answer within API_TIMEOUT_SECONDS.',
    todo: 'See why it is slow; raise API_TIMEOUT_SECONDS if it has to be.',
  },
  unreachable: {
    happened: 'The business API is out of reach.',
    todo: 'Is API_BASE_URL right, and can this machine reach it? Try it with curl from here.',
  },
  redirect_refused: {
    happened: 'The business API answered with a redirect to another origin; tokens go to API_BASE_URL only.',
    todo: 'Set API_BASE_URL to the address that the redirect leads to.',
  },
  too_large: {
    happened: 'The business API answered with more than 1 MiB.',
    todo: 'Have the API answer less for this path.',
  },
  not_json: {
    happened: 'The business API answered with something that is not JSON.',
    todo: 'Is API_BASE_URL the address of the API, and not of a page?',
  },
  http_4xx: {
    happened: 'The business API refused the request.',
    todo: 'See its log; with 403, what the account or person may do there.',
  },
  http_5xx: { happened: 'The business API failed.', todo: 'See its log for the same time.' },
  aborted: { happened: 'The call was given up with its message.' },

  // Tools
  tool_failed: {
    happened: 'A tool could not do what was asked, and told the agent so.',
    todo: 'See the lines before it for the reason; the conversation went on.',
  },
  tool_timeout: {
    happened: 'A tool did not answer in time.',
    todo: 'See the lines before it for the call that took long.',
  },
  invalid_arguments: { happened: 'The agent called a tool with arguments that do not fit, and was told so.' },
  too_many_calls: {
    happened: 'The agent called tools more often than one run may.',
    todo: 'Look at AGENT_INSTRUCTIONS and AGENT_MAX_STEPS; a model that goes in circles needs another one.',
  },
  tool_broken: {
    happened: 'A tool failed for an inner reason.',
    todo: 'See the log of this request (`agentd logs --request`) for the error.',
  },

  // The agent
  agent_failed: {
    happened: 'The agent failed; the client got 502.',
    todo: 'See the log of this request (`agentd logs --request`).',
  },
  agent_timeout: {
    happened: 'The agent took longer than AGENT_TIMEOUT_SECONDS; the client got 504.',
    todo: 'See which step took the time; raise AGENT_TIMEOUT_SECONDS, or use a faster model.',
  },
  model_unreachable: { happened: 'The model server is out of reach.', todo: MODEL },
  model_refused: { happened: 'The model server refused the request.', todo: MODEL },
  model_overloaded: {
    happened: 'The model server is overloaded, or its quota is used up.',
    todo: 'Look at the quota of the account that AGENT_API_KEY belongs to.',
  },
  model_broken_stream: { happened: "The model's answer broke off.", todo: MODEL },
  empty_reply: {
    happened: 'The agent ended without a word.',
    todo: 'Look at AGENT_INSTRUCTIONS and AGENT_MAX_STEPS; try another model.',
  },
  runtime_threw: {
    happened: 'The agent runtime threw an error.',
    todo: 'If the module of AGENT_RUNTIME is yours, fix it: `at` names the file and line. `agentd logs --request` shows the message.',
  },

  // Limits and the daemon itself
  rate_limited: {
    happened: 'More requests than the rate limit allows; the client got 429.',
    todo: 'Have the client obey Retry-After; the limits are RATE_LIMIT_TOKEN_MAX and RATE_LIMIT_ANONYMOUS_MAX. Behind a proxy, set TRUST_PROXY.',
  },
  queue_full: {
    happened: 'AGENT_QUEUE_MAX messages were waiting already; the client got 503.',
    todo: CAPACITY,
  },
  queue_wait: {
    happened: 'No run was free within AGENT_QUEUE_WAIT_SECONDS; the client got 503.',
    todo: CAPACITY,
  },
  stopping: {
    happened: 'The daemon was stopping; the client got 503.',
    todo: 'Raise SHUTDOWN_GRACE_SECONDS if stops should wait longer for running answers.',
  },
  unavailable: {
    happened: 'The daemon could not serve the request; the client got 503.',
    todo: 'Look at the store: disk space and permissions of STATE_DIR; see the log of this request.',
  },
  internal_error: {
    happened: 'Something unexpected happened; the client got 500.',
    todo: 'See the log of this request (`agentd logs --request`), and report it: this is a defect.',
  },
  truncated: { happened: 'There were more lines than a trace holds.' },
};

/**
 * The advice for a reason or code: this table's, else what the table of error codes says. Undefined for words
 * that neither knows, such as a plugin's own.
 */
export function adviceFor(reason: string): Advice | undefined {
  const status = /^http_([45])\d\d$/.exec(reason);
  const key = status ? `http_${status[1]}xx` : reason;
  if (Object.hasOwn(ADVICE, key)) return ADVICE[key];
  if (!Object.hasOwn(ERRORS, reason)) return undefined;
  const { meaning, solve } = ERRORS[reason as ErrorCode];
  return { happened: meaning, todo: solve };
}
