import { ERRORS } from '../../daemon/admin/records.ts';
import { type AdviceTable, REQUEST_LOG } from './advice-table.ts';

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
    todo: 'If the module of AGENT_RUNTIME is yours, fix it: the detail `at` has the file and line. `agentd logs --request` shows the error.',
  },
};
