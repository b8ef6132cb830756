import type { IncomingMessage } from 'node:http';
import { SILENCE_MS } from '../../channel/event-stream.ts';
import type { ConfirmationAnswer, EventStreamPaths } from '../../channel/index.ts';
import { jsonObject } from '../../channel/json-object.ts';
import { eachBundled, loadOneBundled } from '../../daemon/admin/channels.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { CliError, EXIT, failed, unavailable } from '../cli-error.ts';
import { durationInWords } from '../names/typed-values.ts';
import {
  describeFailure,
  type Health,
  readAnswerText,
  type SendOptions,
  sendRequest,
} from '../running-daemon.ts';

/** The connection could not be made, or broke. Another attempt may succeed. */
export class ConnectionLost extends Error {
  /** How long the server asked to wait before the next attempt, ms. */
  readonly wait_ms: number;

  constructor(message: string, options: { cause?: unknown; wait_ms?: number } = {}) {
    super(message, { cause: options.cause });
    this.name = 'ConnectionLost';
    this.wait_ms = options.wait_ms ?? 0;
  }
}

/** A message to send. If it is sent again, it is identical, and is answered once. */
export interface Outgoing {
  /** `Idempotency-Key`. */
  key: string;
  message: string;
  /** Answers the question of an action; the message may be empty then. */
  confirm?: ConfirmationAnswer;
  /** Null creates a session. */
  session_id: string | null;
}

/** Maximum time until the head of a response arrives, ms. */
const ANSWER_WITHIN_MS = 15_000;

/**
 * A client for the event-stream endpoints of a daemon. It follows no redirects, so that a token, which is in the body
 * of a message, is sent to this origin only.
 */
export class StreamClient {
  readonly #base: URL;
  readonly #paths: EventStreamPaths;
  readonly #user_id: string;
  #token: string | null;

  constructor(base: URL, paths: EventStreamPaths, sender: { user_id: string; token: string | null }) {
    this.#base = base;
    this.#paths = paths;
    this.#user_id = sender.user_id;
    this.#token = sender.token;
  }

  /** Signs in with this token from the next message on. */
  signIn(token: string): void {
    this.#token = token;
  }

  /**
   * Sends a message. Resolves to the id of the stream of its answer.
   * @throws CliError if the message was refused, ConnectionLost if it may be sent again
   */
  async start({ key, message, confirm, session_id }: Outgoing, signal: AbortSignal): Promise<string> {
    const body = {
      user_id: this.#user_id,
      message,
      ...(confirm === undefined ? {} : { metadata: { confirm } }),
      ...(session_id === null ? {} : { session_id }),
      ...(this.#token === null ? {} : { jwt_token: this.#token }),
    };
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': key };
    const response = await this.#send(this.#paths.start, signal, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    if (response.statusCode !== 200) throw await this.#refusal(response);
    const { stream_id } = await readBody(response);
    if (typeof stream_id === 'string') return stream_id;
    throw this.#notAgentd(response);
  }

  /**
   * The bytes of a stream after an event; null if there are no more.
   * @throws CliError if the stream was refused, ConnectionLost if it may be opened again (also while it is read)
   */
  async open(
    stream_id: string,
    after: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array> | null> {
    const headers = {
      Accept: 'text/event-stream',
      ...(after > 0 ? { 'Last-Event-ID': String(after) } : {}),
    };
    const path = `${this.#streamPath(stream_id)}?details=tools`;
    const response = await this.#send(path, signal, { headers });
    if (response.statusCode === 204) return null;
    if (response.statusCode !== 200) throw await this.#refusal(response);
    if (!response.headers['content-type']?.startsWith('text/event-stream')) throw this.#notAgentd(response);
    return readPieces(response, signal);
  }

  /** Stops the answer. @throws the errors of `open` */
  async stop(stream_id: string, signal: AbortSignal): Promise<void> {
    const response = await this.#send(this.#streamPath(stream_id), signal, { method: 'DELETE' });
    if (response.statusCode !== 204) throw await this.#refusal(response);
    response.destroy();
  }

  #streamPath(stream_id: string): string {
    return this.#paths.stream.replace(':stream_id', encodeURIComponent(stream_id));
  }

  async #send(
    path: string,
    signal: AbortSignal,
    options: Omit<SendOptions, 'silence_ms' | 'signal'>,
  ): Promise<IncomingMessage> {
    const url = new URL(`${this.#base.pathname.replace(/\/+$/, '')}${path}`, this.#base.origin);
    try {
      return await sendRequest(url, { ...options, silence_ms: ANSWER_WITHIN_MS, signal });
    } catch (cause) {
      signal.throwIfAborted();
      throw new ConnectionLost(describeFailure(cause), { cause });
    }
  }

  /** The error for an unexpected response. */
  async #refusal(response: IncomingMessage): Promise<Error> {
    const status = response.statusCode ?? 0;
    const location = response.headers.location;
    if (status >= 300 && status < 400 && location !== undefined && URL.canParse(location, this.#base.href)) {
      response.destroy();
      const { origin } = new URL(location, this.#base);
      return unavailable(
        `${this.#base.origin} redirects the message to ${origin}; redirects are not followed, since a token must not be sent elsewhere`,
        'If the daemon is there, pass that address with --url.',
      );
    }
    const problem: Problem = await readBody(response);
    const wait_seconds = Math.max(0, Math.min(Number(response.headers['retry-after']) || 0, 86_400));
    // A proxy whose daemon is briefly unavailable sends no problem document.
    if (status >= 502 && status <= 504 && problem.code === undefined) {
      return new ConnectionLost(`it answered ${status}`, { wait_ms: wait_seconds * 1000 });
    }
    if (problem.code === undefined || problem.code === 'not_found') return this.#notAgentd(response);
    return describeRefusal(problem, status, wait_seconds);
  }

  #notAgentd(response: IncomingMessage): CliError {
    response.destroy();
    return unavailable(
      `the server at ${this.#base.origin} is not an agentd daemon with event streams (status ${response.statusCode})`,
      'Compare --url, or HOST and PORT, with the address that the daemon printed. A proxy in between must pass event streams.',
    );
  }
}

/** Yields the bytes as they arrive. Ends the connection if the reader leaves, or if nothing arrives for too long. */
async function* readPieces(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  response.setTimeout(SILENCE_MS, () =>
    response.destroy(new Error('the connection was silent for too long')),
  );
  try {
    for await (const piece of response) yield piece as Uint8Array;
  } catch (cause) {
    signal.throwIfAborted();
    throw new ConnectionLost((cause as Error).message, { cause });
  } finally {
    response.destroy();
  }
  signal.throwIfAborted();
}

/** The JSON object of a response. Empty if there is none, or if the response is cut off: the status is then enough. */
async function readBody(response: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  return jsonObject(await readAnswerText(response).catch(() => ''));
}

/** A problem document (agentd-errors(7)), or the data of an `error` event. */
interface Problem {
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
  agent_failed: {
    happened: 'the agent failed',
    todo: `Run \`agentd doctor\`, which asks the model, too. ${LOG}`,
  },
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
  const happened = known?.happened.replace('{wait}', wait) ?? quoteProblem(problem, status);
  const trail =
    typeof request_id === 'string' ? ` \`agentd explain ${printable(request_id)}\` shows the reason.` : '';
  return new CliError(known?.exitCode ?? EXIT.no, happened, `${known?.todo ?? LOG}${trail}`);
}

/**
 * The text of the problem document itself, for a code that is unknown here. A later version of the daemon, or a proxy,
 * may send an unknown code.
 */
function quoteProblem({ detail, errors }: Problem, status: number): string {
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

/**
 * The paths of the event streams of a daemon, according to its active channels.
 * @throws CliError (1) if no active channel has event streams
 */
export async function findEventStream({ platforms }: Pick<Health, 'platforms'>): Promise<EventStreamPaths> {
  for (const name of platforms) {
    const paths = (await loadOneBundled(name))?.eventStream;
    if (paths) return paths;
  }
  const switches: string[] = [];
  for await (const plugin of eachBundled()) {
    const setting = plugin.eventStream && plugin.settings.find(({ name }) => name.endsWith('_ENABLED'));
    if (setting) switches.push(`set ${setting.name}=true, or add ${plugin.name} to MESSAGING_PLATFORMS`);
  }
  const active = platforms.length > 0 ? ` (active: ${platforms.join(', ')})` : '';
  throw failed(
    `the daemon has no channel with event streams${active}`,
    `In the settings of the daemon, ${switches.join('; or ')}. Then restart it.`,
  );
}
