import { printable } from '../../daemon/admin/texts.ts';
import { CliError } from '../cli-error.ts';
import { durationInWords } from '../duration.ts';
import { EXIT } from '../exit-codes.ts';

/** A problem document (agentd-errors(7)), or the data of an `error` event. */
export interface Problem {
  code?: unknown;
  reason?: unknown;
  detail?: unknown;
  request_id?: unknown;
  errors?: unknown;
}

interface Words {
  /** What happened, in words. `{wait}` is replaced by the time to wait. */
  happened: string;
  todo: string;
  /** Default: 1. */
  exitCode?: number;
}

const LOG = 'See the log of the daemon (`agentd logs`).';

/** The words for the person who chats, by error code; for the loop guard, by reason. */
const WORDS: Readonly<Record<string, Words>> = {
  token_missing: {
    happened: 'this daemon requires a token (SSE_REQUIRE_TOKEN)',
    todo: 'Pass one with --token. `agentd token issue` makes a token for debugging.',
  },
  session_forbidden: {
    happened: 'this conversation belongs to another person',
    todo: 'Leave and run `agentd chat` again, which starts a conversation of your own.',
  },
  rate_limited: {
    happened: 'too many requests in a short time; you can send the next message {wait}',
    todo: 'Wait, or sign in with --token, which allows more. The limits are RATE_LIMIT_TOKEN_MAX and RATE_LIMIT_ANONYMOUS_MAX.',
  },
  too_many_readers: {
    happened: 'too many answers are being read from your address; you can open the next one {wait}',
    todo: 'Close other conversations, or sign in with --token. The limit is SSE_MAX_READERS_PER_CLIENT.',
  },
  rate_limit: {
    happened: 'the loop guard blocks you: too many messages in a short time; it unblocks you {wait}',
    todo: 'Wait. `agentd guard list` shows who is blocked, and `agentd guard reset` unblocks a user at once.',
  },
  repetition: {
    happened: 'the loop guard blocks you: the same message was sent too often; it unblocks you {wait}',
    todo: 'Wait: until then, any message is blocked. `agentd guard reset` unblocks you at once.',
  },
  turn_limit: {
    happened: 'the loop guard blocks this conversation: it has reached its message limit',
    todo: 'Leave and run `agentd chat` again, which starts another conversation.',
  },
  unavailable: {
    happened: 'the daemon is overloaded, stopping, or cannot reach its store; it may answer again {wait}',
    todo: 'Ask again then. `agentd doctor` and the log of the daemon show what is wrong.',
    exitCode: EXIT.unavailable,
  },
  body_too_large: {
    happened: 'the message is too long for this daemon',
    todo: 'Shorten it. The limit is BODY_LIMIT_BYTES.',
  },
  stream_not_found: {
    happened: 'the daemon no longer has this answer',
    todo: 'Ask again. Answers are kept for SSE_STREAM_TTL_SECONDS.',
  },
  confirmation_gone: {
    happened: 'the question is no longer open',
    todo: 'Ask for the action again, and answer within 15 minutes.',
  },
  interrupted: {
    happened: 'the daemon ended during the answer, and the rest of the answer is lost',
    todo: 'Ask again.',
  },
  agent_failed: { happened: 'the agent failed', todo: `Ask again. ${LOG}` },
  agent_timeout: {
    happened: 'the answer took longer than AGENT_TIMEOUT_SECONDS',
    todo: 'Ask again, perhaps for less at once.',
  },
  internal_error: { happened: 'an error occurred in the daemon', todo: `Ask again. ${LOG}` },
};

/**
 * A refusal or failure of the daemon, in words.
 * @param wait_seconds from `Retry-After`; 0 if there was none
 */
export function describeRefusal(problem: Problem, status: number, wait_seconds: number): CliError {
  const { code, reason, request_id } = problem;
  const known = WORDS[String(code === 'loop_guard_blocked' ? reason : code)];
  const wait = wait_seconds > 0 ? `in ${durationInWords(wait_seconds)}` : 'later';
  const happened = known?.happened.replace('{wait}', wait) ?? quoted(problem, status);
  const trail =
    typeof request_id === 'string' ? ` \`agentd explain ${printable(request_id)}\` shows the reason.` : '';
  return new CliError(known?.exitCode ?? EXIT.no, happened, `${known?.todo ?? LOG}${trail}`);
}

/**
 * The text of the problem document itself, for a code that is unknown here. A later version of the daemon, or a proxy,
 * may send an unknown code.
 */
function quoted({ detail, errors }: Problem, status: number): string {
  const fields = Array.isArray(errors)
    ? errors.flatMap((entry: { field?: unknown; message?: unknown } | null) =>
        typeof entry?.field === 'string' && typeof entry.message === 'string'
          ? [`\`${entry.field}\` ${entry.message}`]
          : [],
      )
    : [];
  const text = fields.length > 0 ? fields.join(', ') : typeof detail === 'string' ? detail : '';
  const from = status === 0 ? 'the answer failed' : `the daemon refused the message (status ${status})`;
  return text === '' ? from : `${from}: ${printable(text)}`;
}
