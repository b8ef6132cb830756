import { printable } from '../../daemon/printable.ts';
import { durationInWords } from '../duration.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';

/** Why there is no answer: a problem document, or the data of an `error` event (decisions §1, §5). */
export interface Problem {
  code?: unknown;
  reason?: unknown;
  detail?: unknown;
  request_id?: unknown;
  errors?: unknown;
}

interface Words {
  /** `{wait}` is filled in. */
  happened: string;
  todo: string;
  /** Where it is not the answer that is no. */
  exitCode?: number;
}

const LOG = 'The log of the daemon says more (`agentd logs`).';

/** By code, for the loop guard by reason: in the words of somebody who chats. */
const WORDS: Readonly<Record<string, Words>> = {
  token_missing: {
    happened: 'this daemon answers nobody without a token (SSE_REQUIRE_TOKEN)',
    todo: 'Give one with --token; `agentd token issue` makes one for debugging.',
  },
  session_forbidden: {
    happened: 'this conversation belongs to somebody else',
    todo: 'Leave and run `agentd chat` again: that begins one of your own.',
  },
  rate_limited: {
    happened: 'too many requests in a short time; the next one is answered {wait}',
    todo: 'Wait as long, or sign in with --token, which allows more. The limits are RATE_LIMIT_TOKEN_MAX and RATE_LIMIT_ANONYMOUS_MAX.',
  },
  too_many_readers: {
    happened: 'too many answers are being read from your address; the next one may be opened {wait}',
    todo: 'Close other conversations, or sign in with --token. The limit is SSE_MAX_READERS_PER_CLIENT.',
  },
  rate_limit: {
    happened:
      'the loop guard blocks you: too many messages in a short time; it lets you through again {wait}',
    todo: 'Wait as long. `agentd guard list` shows who is blocked, `agentd guard reset` lets them through at once.',
  },
  repetition: {
    happened: 'the loop guard blocks you: the same message came too often; it lets you through again {wait}',
    todo: 'Wait as long: until then, other words are refused too. `agentd guard reset` lets you through at once.',
  },
  turn_limit: {
    happened: 'the loop guard blocks this conversation: it has had as many messages as it may have',
    todo: 'Leave and run `agentd chat` again: that begins another one.',
  },
  unavailable: {
    happened: 'the daemon is overloaded, stopping, or without its store; it may answer again {wait}',
    todo: 'Ask again then. `agentd doctor` and the log of the daemon say what is wrong.',
    exitCode: EXIT.unavailable,
  },
  body_too_large: {
    happened: 'the message is too long for this daemon',
    todo: 'Shorten it; the limit is BODY_LIMIT_BYTES.',
  },
  stream_not_found: {
    happened: 'the daemon does not know this answer any more',
    todo: 'Ask again. How long an answer is kept is SSE_STREAM_TTL_SECONDS.',
  },
  interrupted: {
    happened: 'the daemon ended while it answered, and the rest of the answer is lost',
    todo: 'Ask again.',
  },
  agent_failed: { happened: 'the agent failed', todo: `Ask again. ${LOG}` },
  agent_timeout: {
    happened: 'the answer took longer than AGENT_TIMEOUT_SECONDS',
    todo: 'Ask again, perhaps for less at once.',
  },
  internal_error: { happened: 'something went wrong in the daemon', todo: `Ask again. ${LOG}` },
};

/**
 * A refusal or failure of the daemon, in words.
 * @param wait_seconds of `Retry-After`; 0: it did not say
 */
export function refusal(problem: Problem, status: number, wait_seconds: number): CliError {
  const { code, reason, request_id } = problem;
  const known = WORDS[String(code === 'loop_guard_blocked' ? reason : code)];
  const wait = wait_seconds > 0 ? `in ${durationInWords(wait_seconds)}` : 'later';
  const happened = known?.happened.replace('{wait}', wait) ?? inItsOwnWords(problem, status);
  const trail =
    typeof request_id === 'string' ? ` \`agentd explain ${printable(request_id)}\` tells why.` : '';
  return new CliError(known?.exitCode ?? EXIT.no, happened, `${known?.todo ?? LOG}${trail}`);
}

/** What only a daemon of a later version says, or a proxy in front of it. */
function inItsOwnWords({ detail, errors }: Problem, status: number): string {
  const fields = Array.isArray(errors)
    ? errors.flatMap((entry: { field?: unknown; message?: unknown } | null) =>
        typeof entry?.field === 'string' && typeof entry.message === 'string'
          ? [`\`${entry.field}\` ${entry.message}`]
          : [],
      )
    : [];
  const said = fields.length > 0 ? fields.join(', ') : typeof detail === 'string' ? detail : '';
  const from = status === 0 ? 'the answer failed' : `the daemon refused the message (status ${status})`;
  return said === '' ? from : `${from}: ${printable(said)}`;
}
