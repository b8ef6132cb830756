import type { WebClient } from '@slack/web-api';
import type { ChannelScope } from '../../src/channel/index.ts';
import { secret } from './settings.ts';

/** Time-out of one call, ms. */
const CALL_MS = 10_000;
/** Longest answer that is read, bytes. */
const ANSWER_MAX = 1_048_576;

/** A call of the platform's API: resolves with its answer where that is `ok`, else rejects with the client's error. */
export type Call = (
  method: string,
  args: Readonly<Record<string, unknown>>,
) => Promise<Record<string, unknown>>;

/**
 * The platform's own client, told to do nothing on its own: retries, waiting and order are the inbox's. It is
 * loaded when it is first needed.
 * @param stopping aborts calls that are under way when the channel stops
 */
export function createCall(scope: ChannelScope, stopping: AbortSignal): Call {
  let client: Promise<WebClient> | undefined;
  return async (method, args) => {
    client ??= load(scope, stopping);
    return { ...(await (await client).apiCall(method, { ...args })) };
  };
}

async function load(scope: ChannelScope, stopping: AbortSignal): Promise<WebClient> {
  const { LogLevel, WebClient } = await import('@slack/web-api');
  const { log } = scope;
  return new WebClient(secret(scope.settings, 'TEAMCHAT_BOT_TOKEN'), {
    slackApiUrl: String(scope.settings.TEAMCHAT_API_URL),
    allowAbsoluteUrls: false,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout: CALL_MS,
    fetch: async (input, init) => {
      const signals = [stopping, ...(init?.signal ? [init.signal] : [])];
      return bounded(await scope.fetch(input, { ...init, signal: AbortSignal.any(signals) }));
    },
    logger: {
      // Its debug lines hold what people say. What fails is told by whoever called, once.
      debug: () => {},
      info: (...words) => log.debug({ client: words.map(String).join(' ') }, 'said by the platform’s client'),
      warn: (...words) => log.debug({ client: words.map(String).join(' ') }, 'said by the platform’s client'),
      error: (...words) => log.warn({ client: words.map(String).join(' ') }, 'said by the platform’s client'),
      setLevel: () => {},
      getLevel: () => LogLevel.INFO,
      setName: () => {},
    },
  });
}

/** The same answer, broken off where it grows too long. */
function bounded(response: Response): Response {
  if (response.body === null) return response;
  let read = 0;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      read += chunk.byteLength;
      if (read > ANSWER_MAX) controller.error(new RangeError('the answer is too long'));
      else controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(limit), response);
}
