import { ERRORS, type ErrorCode } from '../daemon/errors.ts';

/** What a reason in a trace means, and what the operator can do. */
export interface Advice {
  /** What happened, in one sentence. */
  happened: string;
  /** What to do. Absent: nothing needs to be done. */
  todo?: string;
}

const DEFAULT_CREDENTIALS = 'The default credentials were used';
const RENEW =
  'Have the person sign in again and send a new token with the next message (clients renew a token 5 minutes before it expires). A linked person must link again.';
const MODEL = 'Check AGENT_BASE_URL, AGENT_MODEL and AGENT_API_KEY, and the log of the model server.';
const CAPACITY = 'Raise AGENT_CONCURRENCY or add processors. `agentd logs` shows which runs are slow.';
const REQUEST_LOG = 'Read the log of this request: `agentd logs --request`.';

/**
 * By reason or error code, as in traces and logs. `agentd explain` lists the reasons that have a `todo`; the others are
 * in its time line only.
 */
export const ADVICE: Readonly<Record<string, Advice>> = {
  // Tokens (agentd-token(1))
  'JWT Malformed': {
    happened: `The value sent as a token is not a JWT: it does not have three parts, or they cannot be decoded. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Check what the client sends: the token alone, without quotes, after `Bearer `. `agentd token verify` shows which part is wrong.',
  },
  'Algorithm Not Allowed': {
    happened: `The token is not signed with the algorithm of JWT_ALGORITHM. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Have the site sign with that algorithm, or set JWT_ALGORITHM to the one that the site uses.',
  },
  'Invalid Signature': {
    happened: `The token was not signed with the configured key. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Compare JWT_SECRET_KEY (RS256: JWT_PUBLIC_KEY or JWT_JWKS_URL) with the key of the site. `agentd config show` shows where the value comes from.',
  },
  'Missing Required Claims': {
    happened: `The token lacks \`sub\`, \`email\` or \`exp\`. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Have the site add all three claims. `agentd token verify` shows the claims of a token.',
  },
  'Token Expired': { happened: `The token has expired. ${DEFAULT_CREDENTIALS}.`, todo: RENEW },
  'Token Not Yet Valid': {
    happened: `The \`nbf\` or \`iat\` of the token is in the future. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Compare the clocks of the site and of this machine. JWT_CLOCK_SKEW_SECONDS allows a difference.',
  },
  'Invalid Issuer': {
    happened: `The \`iss\` of the token is not JWT_ISSUER. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Set JWT_ISSUER to the `iss` that the site writes, or correct the site.',
  },
  'Invalid Audience': {
    happened: `The \`aud\` of the token does not contain JWT_AUDIENCE. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Set JWT_AUDIENCE to an `aud` that the site writes, or correct the site.',
  },

  // Memory (agentd-agent(7), "Memory")
  memory_unavailable: {
    happened: 'Long-term memory could not be reached: the message was answered without it.',
    todo: 'Run `agentd doctor`: its line `memory` says what is wrong. The log says when the outage began.',
  },
  memory_refused: { happened: 'The agent called a tool of memory with a text that cannot be stored.' },
  memory_of_nobody: { happened: 'A tool of memory was called for nobody: there is nothing to remember.' },
  memory_unmarked: {
    happened:
      'A result from another origin was withheld: memories that the run had stored could not be marked before it.',
    todo: 'Run `agentd doctor`: its line `memory` says what is wrong.',
  },

  // Who a message acts for
  valid_token: { happened: 'The token passed all checks.' },
  token_bound: { happened: 'The tools act for the person of the token.' },
  stored_context: { happened: 'The token of an earlier message of this session was used.' },
  no_token: {
    happened: `The message had no token. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Do nothing if the person was not signed in. Otherwise check that the page sends the token with the message.',
  },
  no_link: {
    happened: `The user of the channel is not linked to a person. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Do nothing if the user does not need a link. Otherwise have the user link, or link the user with `agentd link`. `agentd link list` shows all links.',
  },
  link_of_other_sender: {
    happened: `The user id is linked, but it belonged to another sender when it was linked. ${DEFAULT_CREDENTIALS}.`,
    todo: 'If the number has a new owner, the new owner must link it again. If it is the same person, remove the link with `agentd link remove`, and have the person link again.',
  },
  invalid_token: {
    happened: `The token is invalid. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Check the token with `agentd token verify -`.',
  },
  signed_out: {
    happened: `The client reported that the person signed out (jwt_token: null). ${DEFAULT_CREDENTIALS}.`,
    todo: 'Do nothing if the person did sign out. Otherwise find out why the page sends null.',
  },
  stored_token_expired: {
    happened: `The token of an earlier message has expired. ${DEFAULT_CREDENTIALS}.`,
    todo: RENEW,
  },
  stored_token_unreadable: {
    happened: `No encryption key decrypts the stored token. ${DEFAULT_CREDENTIALS}.`,
    todo: 'When you change the key, keep the old key after the new one, separated by a comma.',
  },
  client_chosen_session: {
    happened: `The client chose the id of the session, so every message must bring its own token. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Send the token with every message. Or leave `session_id` out of the first message and use the id in the reply.',
  },
  other_sender: {
    happened: `Another user brought the stored token. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Do nothing: each person in a shared conversation signs in on their own.',
  },
  no_request_context: {
    happened: `A tool made a call outside of a message. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Change the tool: it must call the API while its message is being answered, not later.',
  },
  session_not_found: {
    happened: `The session ended while its message was being answered. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Do nothing if it was ended on purpose. Otherwise check SESSION_TTL_SECONDS.',
  },
  session_unreachable: {
    happened: `The session could not be read. ${DEFAULT_CREDENTIALS}.`,
    todo: 'Check the store: free disk space and permissions of STATE_DIR.',
  },
  no_jwt_context: { happened: 'The session has no token; the default credentials were used.' },

  // Sessions and repeated messages
  found: { happened: 'The session existed.' },
  created: { happened: 'A session was created.' },
  session_changed: {
    happened: 'While the message waited, its session was signed in to, ended or created again.',
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
  replayed: { happened: 'The message repeats one that was answered before; the same answer was sent again.' },
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
  checked_on_arrival: { happened: 'The loop guard allowed the message when it arrived.' },
  rate_limit: {
    happened:
      'The user sent more than LOOP_GUARD_MAX_MESSAGES within LOOP_GUARD_WINDOW_SECONDS. All messages of the user are blocked for LOOP_GUARD_COOLDOWN_SECONDS.',
    todo: 'If the user is a bot, make sure that it does not answer the replies. A person only has to wait: any message is blocked until then. `agentd guard list` shows who is blocked, and `agentd guard reset` unblocks a user at once.',
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
    todo: 'Do nothing while another attempt follows. Once the message has failed, check the platform and the credentials of the channel, then run `agentd inbox retry --failed`.',
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

  // The business API
  user_token_refused: {
    happened: "The business API answered 401 to the user's token.",
    todo: 'Check that the API trusts the same key, issuer and audience as this daemon. Its log has the reason.',
  },
  default_token_refused: {
    happened: 'The business API answered 401 to the default token.',
    todo: 'The daemon fetches a new token once. If that is refused, too, check the permissions of the account in API_EMAIL.',
  },
  default_credentials_refused: {
    happened: 'The business API does not accept API_EMAIL and API_PASSWORD.',
    todo: 'Set both to an account that the API knows. You can test them with POST /authentication_token.',
  },
  default_credentials_missing: {
    happened: 'API_EMAIL and API_PASSWORD are not set, so no call is possible without a user token.',
    todo: 'Set both if visitors who are not signed in should get answers from the business API.',
  },
  default_token_failed: {
    happened: 'The daemon could not sign in to the business API.',
    todo: 'Check the log of the API for POST /authentication_token. The response must contain `token` or `access_token`.',
  },
  timeout: {
    happened: 'The business API did not answer within API_TIMEOUT_SECONDS.',
    todo: 'Find out why it is slow. Raise API_TIMEOUT_SECONDS if it needs the time.',
  },
  unreachable: {
    happened: 'The business API cannot be reached.',
    todo: 'Check API_BASE_URL, and that this machine can reach it: try curl from here.',
  },
  redirect_refused: {
    happened: 'The business API redirected to another origin; tokens are sent to API_BASE_URL only.',
    todo: 'Set API_BASE_URL to the target of the redirect.',
  },
  too_large: {
    happened: 'The business API answered with more than 1 MiB.',
    todo: 'Have the API send less for this path.',
  },
  not_json: {
    happened: 'The response of the business API is not JSON.',
    todo: 'Check that API_BASE_URL is the address of the API, and not of a web page.',
  },
  path_refused: { happened: 'The address of a call was not valid, so nothing was sent.' },
  http_4xx: {
    happened: 'The business API refused the request.',
    todo: 'Check the log of the API. For status 403, check what the account or person may do there.',
  },
  http_5xx: { happened: 'The business API failed.', todo: 'Check the log of the API for that time.' },
  aborted: { happened: 'The call was canceled together with its message.' },

  // Tools: whether a call may be made (agentd-agent(7), "Tools")
  sign_in_needed: {
    happened: "The call was not made: it needs the person's token, and there is none that can be used.",
  },
  claim_missing: {
    happened: "The call was not made: the person's token lacks the claim that fills in a parameter.",
    todo: 'Have the site add the claim to its tokens, or change `bind` of the tool.',
  },
  bound_argument: {
    happened: 'The call was not made: the agent set a parameter that only the token may fill in.',
  },
  credentials_not_allowed: {
    happened: 'The call was not made: the credentials of the tool must not be sent to its address.',
    todo: 'Change `credentials` of the tool. agentd-agent(7), "Credentials", says which ones an address may get.',
  },
  repeated_call: { happened: 'The agent made the same call for the third time; it was not made.' },
  tool_gone: {
    happened: 'A confirmed call was not made: there is no such tool any more.',
    todo: 'Run `agentd tools list` to see which tools there are.',
  },
  no_address: {
    happened: 'A tool made a request, but its source has no address.',
    todo: 'Set API_BASE_URL.',
  },
  header_refused: {
    happened: 'A tool set a header that belongs to the daemon or to the configuration; nothing was sent.',
    todo: 'Leave the header out in the tool. A fixed one belongs under `headers` in the configuration file.',
  },
  subject_expired: {
    happened: "The person's token expired before it could be exchanged for one of the other system.",
    todo: RENEW,
  },
  exchange_refused: {
    happened: "The authorization server refused to exchange the person's token.",
    todo: 'Check client and audience under `exchange` of the entry. The log of that server has the reason.',
  },
  exchange_failed: {
    happened: 'The authorization server could not be reached, or answered without a usable token.',
    todo: 'Check `url` under `exchange` of the entry, and the log of that server.',
  },
  exchange_token_refused: {
    happened: 'The other system answered 401 to the exchanged token.',
    todo: 'Check that it accepts tokens of this authorization server for the configured audience.',
  },

  // Tools: what is known of a write (agentd-agent(7), "Journal")
  made_before: {
    happened: 'An earlier run of the message made this call. Its result was used; there was no second call.',
  },
  outcome_unknown: {
    happened:
      'An earlier run of the message may have made this call. It was not repeated, and the reply says so.',
    todo: 'Look in the other system whether it was done. `agentd actions list` shows what was sent.',
  },
  cannot_be_confirmed: {
    happened: 'The call was not made: it needs a confirmation, and nobody can be asked.',
  },
  not_recorded: {
    happened: 'A write was not sent, because it could not be recorded first.',
    todo: 'Run `agentd doctor` to check the store.',
  },
  store_unavailable: {
    happened: 'The agent asked for the actions of the person, and the store could not be read.',
    todo: 'Run `agentd doctor` to check the store.',
  },

  // Tools: how a call ended
  tool_failed: {
    happened: 'A tool could not do what the agent asked for, and told the agent so.',
    todo: 'The lines before it have the reason. The conversation continued.',
  },
  tool_timeout: {
    happened: 'A tool did not finish in time.',
    todo: 'The lines before it show which call took long.',
  },
  invalid_arguments: { happened: 'The agent called a tool with invalid arguments, and was told so.' },
  too_many_calls: {
    happened: 'The agent called tools more often than a run may.',
    todo: 'Check AGENT_INSTRUCTIONS and AGENT_MAX_STEPS. If the model goes in circles, use another one.',
  },
  tool_withdrawn: {
    happened: 'The tool changed or disappeared on its MCP server while the message was being answered.',
    todo: 'Run `agentd tools list`. If the tool has changed, compare and accept it with `agentd tools trust`.',
  },
  mcp_unreachable: {
    happened: 'The MCP server could not be reached, or its connection broke during the call.',
    todo: 'Run `agentd doctor`, and check the log of the server.',
  },
  mcp_timeout: {
    happened: 'The MCP server did not answer the handshake in time.',
    todo: 'Check the log of the server.',
  },
  mcp_redirect: {
    happened: 'The MCP server answered with a redirect, which is not followed.',
    todo: 'Write the address that it redirects to in the entry under `tools`.',
  },
  mcp_too_large: {
    happened: 'The MCP server answered with more than 1 MiB, or with values that are nested too deeply.',
    todo: 'Have the server send less.',
  },
  mcp_flood: {
    happened: 'The MCP server sent too many messages that nobody asked for. The connection was closed.',
    todo: 'Report it to those who run the server.',
  },
  not_mcp: {
    happened: 'The MCP server answered with something that is not MCP.',
    todo: 'Check the address in the entry under `tools`, and the log of the server.',
  },
  mcp_session_changed: {
    happened: 'The MCP server answered in another session than that of the request. The answer was not used.',
    todo: 'Report it to those who run the server: the answer may have been meant for another person.',
  },
  mcp_session_gone: {
    happened: 'The MCP server ended its session twice in a row. Nothing was done.',
    todo: 'Check the log of the server. If it runs several times behind one address, sessions must reach the same one.',
  },
  mcp_ended: { happened: 'The connection to the MCP server was closed because the daemon stops.' },
  mcp_refused: {
    happened: 'The MCP server refused the connection.',
    todo: 'Check the log of the server.',
  },
  tool_broken: { happened: 'A tool failed with an internal error.', todo: REQUEST_LOG },

  // The agent
  agent_failed: { happened: 'The agent failed; the client got 502.', todo: REQUEST_LOG },
  agent_timeout: {
    happened: 'The agent took longer than AGENT_TIMEOUT_SECONDS; the client got 504.',
    todo: 'Find out which step took the time. Raise AGENT_TIMEOUT_SECONDS, or use a faster model.',
  },
  model_unreachable: { happened: 'The model server cannot be reached.', todo: MODEL },
  model_refused: { happened: 'The model server refused the request.', todo: MODEL },
  model_overloaded: {
    happened: 'The model server is overloaded, or its quota is used up.',
    todo: 'Check the quota of the account of AGENT_API_KEY.',
  },
  model_broken_stream: { happened: 'The connection to the model broke during its answer.', todo: MODEL },
  not_summarized: {
    happened: 'The beginning of the conversation could not be summed up; the model is not given it.',
    todo: 'The lines before it have the reason. It is tried again after a later message.',
  },
  budget_exhausted: {
    happened: 'The tokens that one person may use within 24 hours were used up, and the reply said so.',
    todo: 'Raise AGENT_DAILY_TOKENS if that was ordinary use.',
  },
  // Confirmation (agentd-agent(7))
  no_button: { happened: 'The message answers no question by a button.' },
  no_run_needed: { happened: 'The service answered by itself, without a run of the agent.' },
  settled_before: {
    happened: 'An earlier run of this message settled an action, and ended before its reply was stored.',
  },
  action_waits: { happened: 'An action waits for its person, and this message was no answer to it.' },
  action_confirmed: { happened: 'The person confirmed the action that waited.' },
  action_declined: { happened: 'The message declined the action that waited.' },
  action_withdrawn: {
    happened: 'The action that waited was withdrawn: the person signed out, or somebody else signed in.',
  },
  action_of_another: { happened: 'The message named an action that waits for somebody else.' },
  confirmation_needs_sign_in: {
    happened: 'The answer to the question came without a usable token. The action goes on waiting.',
    todo: 'Have the client send the token with the confirming message; on a platform, have the person link again.',
  },
  confirmation_gone: { happened: ERRORS.confirmation_gone.meaning, todo: ERRORS.confirmation_gone.solve },
  waits_for_confirmation: { happened: 'The call was not made: the person is asked first.' },
  another_waits: { happened: 'The call was not made: another action waits for the same person.' },
  question_too_long: {
    happened: 'The call was not made: the question would have more than 3,000 characters.',
    todo: 'Let the tool take shorter arguments, or set `confirm: never` for it if a call does no harm.',
  },
  token_in_arguments: { happened: 'The call was not made: an argument has the form of an access token.' },
  empty_reply: {
    happened: 'The agent ended without a reply.',
    todo: 'Check AGENT_INSTRUCTIONS and AGENT_MAX_STEPS, or try another model.',
  },
  runtime_threw: {
    happened: 'The agent runtime threw an error.',
    todo: 'If the module of AGENT_RUNTIME is yours, fix it: `at` has the file and line. `agentd logs --request` shows the error.',
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
    happened: 'No run was free within AGENT_QUEUE_WAIT_SECONDS; the client got 503.',
    todo: CAPACITY,
  },
  stopping: {
    happened: 'The daemon was stopping; the client got 503.',
    todo: 'Raise SHUTDOWN_GRACE_SECONDS if the daemon should wait longer for running answers.',
  },
  unavailable: {
    happened: 'The daemon could not serve the request; the client got 503.',
    todo: 'Check the store: free disk space and permissions of STATE_DIR. The log of this request says more.',
  },
  internal_error: {
    happened: 'An unexpected error occurred; the client got 500.',
    todo: 'Read the log of this request (`agentd logs --request`), and report it: this is a defect.',
  },
  truncated: { happened: 'There were more lines than a trace can hold.' },
};

/**
 * The advice for a reason or error code: from this table, else from the table of error codes. Undefined if neither
 * has it, for example for a reason of a plugin.
 */
export function adviceFor(reason: string): Advice | undefined {
  const status = /^http_([45])\d\d$/.exec(reason);
  const key = status ? `http_${status[1]}xx` : reason;
  if (Object.hasOwn(ADVICE, key)) return ADVICE[key];
  if (!Object.hasOwn(ERRORS, reason)) return undefined;
  const { meaning, solve } = ERRORS[reason as ErrorCode];
  return { happened: meaning, todo: solve };
}
