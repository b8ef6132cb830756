import { ERRORS } from '../../daemon/admin/records.ts';
import { type AdviceTable, RENEW, REQUEST_LOG } from './advice-table.ts';

const ADDRESS = '`base_url` or `mcp` of the entry {source} under `tools` (if it has neither, API_BASE_URL)';

/** Reasons of calls to the business API and of tools. */
export const TOOL_ADVICE: AdviceTable = {
  // The business API
  user_token_refused: {
    happened: "The business API answered 401 to the user's token.",
    todo: 'Check that the API trusts the same key, issuer and audience as this daemon. The log of the API has the reason.',
    todo_of_source:
      'Check that this system trusts the same key, issuer and audience as this daemon. Otherwise set `credentials: exchange` for the entry {source}.',
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
    todo: 'Set both if visitors who are not signed in should get answers from the business API. For an operation that needs no token, set `credentials: none`.',
  },
  default_token_failed: {
    happened: 'The daemon could not sign in to the business API.',
    todo: 'Check the log of the API for POST /authentication_token. The response must contain `token` or `access_token`.',
  },
  timeout: {
    happened: 'The business API did not answer within API_TIMEOUT_SECONDS.',
    todo: 'Find out why it is slow. Raise API_TIMEOUT_SECONDS if it needs the time.',
    todo_of_source:
      'Find out why it is slow. Raise API_TIMEOUT_SECONDS, which applies to all sources, if it needs the time.',
  },
  unreachable: {
    happened: 'The business API cannot be reached.',
    todo: 'Check API_BASE_URL, and that this machine can reach it: try curl from here.',
    todo_of_source: `Check ${ADDRESS}, and that this machine can reach it: try curl from here.`,
  },
  redirect_refused: {
    happened:
      'The business API redirected to another origin, which is not followed: tokens are sent to one origin only.',
    todo: 'Set API_BASE_URL to the target of the redirect.',
    todo_of_source: `Set ${ADDRESS} to the target of the redirect.`,
  },
  too_large: {
    happened: 'The business API answered with more than 1 MiB.',
    todo: 'Have the API send less for this path.',
    todo_of_source: 'Have the system send less for this path.',
  },
  not_json: {
    happened: 'The response of the business API is not JSON.',
    todo: 'Check that API_BASE_URL is the address of the API, and not of a web page.',
    todo_of_source: `Check that ${ADDRESS} is the address of the API, and not of a web page.`,
  },
  path_refused: { happened: 'The address of a call was not valid, so nothing was sent.' },
  credential_refused: {
    happened: 'The token has characters that a cookie cannot contain, so nothing was sent.',
    todo: 'Use `credential: { header: … }` for this source, if the system accepts it.',
  },
  http_4xx: {
    happened: 'The business API refused the request.',
    todo: 'Check the log of the API. For status 403, check what the account or person may do there.',
    todo_of_source:
      'Check the log of that system. For status 401 or 403, check `credentials` and `headers` of the entry {source}.',
  },
  http_5xx: {
    happened: 'The business API failed.',
    todo: 'Check the log of the API for that time.',
    todo_of_source: 'Check the log of that system for that time.',
  },
  aborted: { happened: 'The call was canceled together with its message.' },

  // Tools: whether a call may be made (agentd-agent(7), "Tools")
  sign_in_needed: {
    happened: "The call was not made: it needs the person's token, and there is no usable one.",
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
    todo: 'Change `credentials` of the tool. agentd-agent(7), "Credentials", says which credentials an address may get.',
  },
  repeated_call: { happened: 'The agent asked for the same call a third time; it was not made.' },
  tool_gone: {
    happened: 'A confirmed call was not made: the tool no longer exists, or its record has changed.',
    todo: 'Run `agentd tools list` to see which tools there are.',
  },
  no_address: {
    happened: 'A tool made a request, but its source has no address.',
    todo: 'Set API_BASE_URL.',
  },
  header_refused: {
    happened: 'A tool set a header that belongs to the daemon or to the configuration; nothing was sent.',
    todo: 'Leave the header out in the tool. A header with a fixed value belongs under `headers` in the configuration file.',
  },
  subject_expired: {
    happened: "The person's token expired before it could be exchanged for a token of the other system.",
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
    todo: 'Check in the other system whether it was done. `agentd actions list` shows what was sent.',
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
    todo: 'See the lines before `tool_failed` for the reason. The conversation continued.',
  },
  tool_timeout: {
    happened: 'A tool did not finish in time.',
    todo: 'The lines before `tool_timeout` show which call took long. A call may take 2 minutes; for an MCP server, set `timeout_seconds` of its entry. The run ends at AGENT_TIMEOUT_SECONDS in any case.',
  },
  invalid_arguments: {
    happened:
      'The agent called a tool with invalid arguments, and was told so. `argument` names the first of them.',
    todo: 'If this happens often, describe the argument better in the tool, or use another model.',
  },
  arguments_too_slow: {
    happened:
      'The agent called a tool again whose arguments had taken too long to check in this run. They were not checked again.',
    todo: 'Simplify the schema of the tool: forms that nothing tells apart multiply if they are recursive.',
  },
  too_many_calls: {
    happened: 'The agent made more tool calls than one run may make.',
    todo: 'Check AGENT_INSTRUCTIONS and AGENT_MAX_STEPS. If the model goes in circles, use another model.',
  },
  tool_withdrawn: {
    happened: 'The tool changed or disappeared on its MCP server while the message was being answered.',
    todo: 'Run `agentd tools list`. If the tool has changed, compare and accept it with `agentd tools trust`.',
  },
  tool_changing: {
    happened: 'The MCP server announced that its tools have changed, and did not list them in time.',
    todo: 'Run `agentd tools list`, and check the log of the server.',
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
    todo: 'In the entry under `tools`, set the address to the target of the redirect.',
  },
  mcp_too_large: {
    happened: 'The MCP server answered with more than 1 MiB, or with values that are nested too deeply.',
    todo: 'Have the server send less.',
  },
  mcp_flood: {
    happened: 'The MCP server sent too many unsolicited messages. The connection was closed.',
    todo: 'Report it to the operators of the server.',
  },
  not_mcp: {
    happened: 'The MCP server answered with something that is not MCP.',
    todo: 'Check the address in the entry under `tools`, and the log of the server.',
  },
  mcp_session_changed: {
    happened:
      'The MCP server answered in a different session from that of the request. The answer was not used.',
    todo: 'Report it to the operators of the server: the answer may have been meant for another person.',
  },
  mcp_session_gone: {
    happened: 'The MCP server ended its session twice in a row. Nothing was done.',
    todo: 'Check the log of the server. If several instances of it run behind one address, all requests of a session must reach the same instance.',
  },
  mcp_ended: { happened: 'The connection to the MCP server was closed because the daemon stops.' },
  input_required: {
    happened:
      'The MCP server needs something from the person before it carries out the call. Nothing was done, and the agent was told what it needs.',
  },
  mcp_refused: {
    happened: 'The MCP server refused the connection.',
    todo: 'Check the log of the server.',
  },
  tool_broken: { happened: 'A tool failed with an internal error.', todo: REQUEST_LOG },
};

/** Reasons of the agent, of its memory, and of confirmations. */
export const AGENT_ADVICE: AdviceTable = {
  // Memory (agentd-agent(7), "Memory")
  memory_unavailable: {
    happened: 'Long-term memory could not be reached: the message was answered without it.',
    todo: 'Run `agentd doctor`: its line `memory` says what is wrong. The log says when the outage began.',
  },
  memory_refused: { happened: 'The agent called a memory tool with a text that cannot be stored.' },
  memory_of_nobody: {
    happened: 'A memory tool was called, but the message has no known person: nothing was stored or found.',
  },
  memory_unmarked: {
    happened:
      'A tool returned a result from an origin other than that of API_BASE_URL, so the memories that the run had already stored had to be marked as `elsewhere`. That failed, so the agent did not get the result.',
    todo: 'Run `agentd doctor`: its line `memory` says what is wrong.',
  },

  // The agent
  agent_failed: { happened: 'The agent failed; the client got 502.', todo: REQUEST_LOG },
  claim_without_action: {
    happened:
      'The agent said that it had changed something, but no tool has changed anything in this conversation. The reply says that nothing was changed.',
    todo: 'Read the reply with `agentd sessions show`. Tell the model in AGENT_INSTRUCTIONS to call a tool before it says that something is done, or use another model.',
  },
  agent_timeout: {
    happened: 'The agent took longer than AGENT_TIMEOUT_SECONDS; the client got 504.',
    todo: 'Find out which step took the time. Raise AGENT_TIMEOUT_SECONDS, or use a faster model.',
  },
  model_unreachable: {
    happened: 'The model server cannot be reached.',
    todo: 'Check AGENT_BASE_URL (for the fallback model AGENT_FALLBACK_BASE_URL), and that this machine can reach it: try curl from here.',
  },
  model_refused: {
    happened: 'The model server refused the request.',
    todo: 'Check AGENT_MODEL and AGENT_API_KEY (for the fallback model AGENT_FALLBACK_MODEL and AGENT_FALLBACK_API_KEY). `agentd doctor` asks the server for its models.',
  },
  model_overloaded: {
    happened: 'The model server is overloaded, or its quota is used up.',
    todo: 'Check the quota of the account of AGENT_API_KEY.',
  },
  model_broken_stream: {
    happened: 'The connection to the model broke during its answer.',
    todo: 'Check the log of the model server, and the timeouts of the proxies before it. No setting of agentd causes this.',
  },
  not_summarized: {
    happened: 'The beginning of the conversation could not be summarized, so the model does not get it.',
    todo: 'See the lines before `not_summarized` for the reason. agentd tries again after a later message.',
  },
  steps_exhausted: {
    happened:
      'The model still called tools in the last of its AGENT_MAX_STEPS steps. The reply says that it could not finish.',
    todo: 'Look at the calls in the trace. Raise AGENT_MAX_STEPS if the work needs more; otherwise change AGENT_INSTRUCTIONS or use another model.',
  },
  output_cut: {
    happened: 'The answer of the model was cut off at its maximum length, so the reply is incomplete.',
    todo: 'Raise AGENT_MAX_OUTPUT_TOKENS, or the limit of the model server. A model that reasons needs room for that, too.',
  },
  content_filtered: {
    happened: 'The filter of the model server withheld the answer of the model, or a part of it.',
    todo: 'Check the rules of the filter. Its service may show why it acted.',
  },
  empty_answer: {
    happened: 'The model answered without any text. The reply asks the person to put it in other words.',
    todo: 'Check AGENT_INSTRUCTIONS, or use another model.',
  },
  unknown_tool: {
    happened: 'The model called a tool that it was not offered, and was told so.',
    todo: 'Run `agentd tools list` to see which tools there are. Do not name others in AGENT_INSTRUCTIONS.',
  },
  arguments_not_json: {
    happened:
      'The model called a tool with arguments that are not JSON. Nothing was called, and it was told so.',
    todo: 'If this happens often, use a model that is better at calling tools, or raise AGENT_MAX_OUTPUT_TOKENS.',
  },
  budget_exhausted: {
    happened:
      'The request did not fit into the tokens that one person may use within 24 hours (AGENT_DAILY_TOKENS).',
    todo: 'Raise AGENT_DAILY_TOKENS if that was ordinary use.',
  },

  // Sign-in (agentd-identity(7))
  question_waits: {
    happened:
      'A tool needed the sign-in of a person. The reply said how to sign in, and the question waits for it.',
  },
  sign_in_asked: { happened: 'A tool needed the sign-in of a person. The reply said how to sign in.' },
  waits_for_sign_in: { happened: 'The question waits for the sign-in of its sender. It is then run again.' },

  // Confirmation (agentd-agent(7))
  no_button: { happened: 'The message is not a button press, so there was no action to find.' },
  no_run_needed: { happened: 'The service answered by itself, without a run of the agent.' },
  settled_before: {
    happened: 'An earlier run of this message settled an action, and ended before its reply was stored.',
  },
  action_waits: {
    happened: 'An action waits for the confirmation of its person, and this message did not answer it.',
  },
  action_confirmed: { happened: 'The person confirmed the pending action.' },
  action_declined: { happened: 'The message declined the pending action.' },
  action_withdrawn: {
    happened: 'The pending action was withdrawn: the person signed out, or somebody else signed in.',
  },
  arguments_changed: {
    happened:
      'The person confirmed a call, but their token now fills in other arguments than the question showed. The call was not made, and the person was asked again.',
  },
  action_of_another: { happened: 'The message named an action that waits for somebody else.' },
  confirmation_needs_sign_in: {
    happened: 'The answer to the question came without a usable token. The action stays pending.',
    todo: 'Have the client send the token with the confirming message; on a platform, have the person link again.',
  },
  confirmation_gone: { happened: ERRORS.confirmation_gone.meaning, todo: ERRORS.confirmation_gone.solve },
  waits_for_confirmation: { happened: 'The call was not made: the person is asked first.' },
  question_ended: { happened: 'The message answered a question that had ended, so nothing was done.' },
  declined_before: { happened: 'The call was not made: the person had just declined it.' },
  question_full: {
    happened:
      'The call was not made: the question already asks about 10 actions, or would have more than 3,000 characters.',
  },
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
    todo: 'If the module of AGENT_RUNTIME is yours, fix it: the detail `at` has the file and line. `agentd logs --request` shows the error.',
  },
};
