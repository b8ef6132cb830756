import type { WebClient } from '@slack/web-api';
import {
  type ChannelScope,
  type ChannelSettings,
  retryAfterSeconds,
  type SettingRecord,
} from '../../src/channel/index.ts';

/** Timeout of one call, in ms. */
const CALL_MS = 10_000;
/** Maximum length of an answer, in bytes. */
const ANSWER_MAX = 1_048_576;

/** Calls a method of the platform's API. Resolves with an answer that is `ok`; rejects with the client's error. */
export type Call = (
  method: string,
  args: Readonly<Record<string, unknown>>,
) => Promise<Record<string, unknown>>;

/**
 * The platform's own client library. Its retries, waits and ordering are turned off, because the inbox provides them.
 * @param stopping aborts running calls when the channel stops
 */
export function createCall(scope: ChannelScope, stopping: AbortSignal): Call {
  let client: Promise<WebClient> | undefined;
  return async (method, args) => {
    client ??= createClient(scope, stopping);
    return { ...(await (await client).apiCall(method, { ...args })) };
  };
}

let library: Promise<typeof import('@slack/web-api')> | undefined;

/** Loads the platform's client library, which only a daemon with this channel needs. */
export function loadLibrary(): Promise<typeof import('@slack/web-api')> {
  library ??= import('@slack/web-api');
  return library;
}

async function createClient(scope: ChannelScope, stopping: AbortSignal): Promise<WebClient> {
  const { LogLevel, WebClient } = await loadLibrary();
  const token = secret(scope.settings, 'TEAMCHAT_BOT_TOKEN');
  const say = (level: 'debug' | 'warn', words: readonly unknown[]) => {
    // The client logs network errors unchanged, and these may quote the request, which contains the token.
    const client = words.map(String).join(' ').replaceAll(token, '[secret]');
    scope.log[level]({ client }, 'a message of the platform’s client library');
  };
  return new WebClient(token, {
    slackApiUrl: String(scope.settings.TEAMCHAT_API_URL),
    allowAbsoluteUrls: false,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout: CALL_MS,
    fetch: async (input, init) => {
      const signals = [stopping, ...(init?.signal ? [init.signal] : [])];
      return checked(await scope.fetch(input, { ...init, signal: AbortSignal.any(signals) }));
    },
    logger: {
      // Debug lines of the client contain people's messages. The caller logs each failure once.
      debug: () => {},
      info: (...words) => say('debug', words),
      warn: (...words) => say('debug', words),
      error: (...words) => say('warn', words),
      setLevel: () => {},
      getLevel: () => LogLevel.INFO,
      setName: () => {},
    },
  });
}

/**
 * Reads an answer completely, up to a maximum size. An answer that is not JSON comes from a proxy or gateway. The
 * client would treat it as an error of the platform.
 */
async function checked(response: Response): Promise<Response> {
  if (response.body === null) return response;
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body) {
    length += chunk.byteLength;
    if (length > ANSWER_MAX) throw noAnswer('too_long');
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString();
  if (response.status === 200 && !isJsonObject(text)) throw noAnswer('no_json');
  const { status, statusText, headers } = response;
  const seconds = retryAfterSeconds(headers);
  // The client understands `Retry-After` only in seconds.
  if (seconds === undefined) return new Response(text, { status, statusText, headers });
  const inSeconds = new Headers(headers);
  inSeconds.set('Retry-After', String(seconds));
  return new Response(text, { status, statusText, headers: inSeconds });
}

/** @param code code of a network error */
function noAnswer(code: string): Error {
  return new Error('the response is not from the platform', { cause: { code } });
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

export const SETTINGS: readonly SettingRecord[] = [
  {
    name: 'TEAMCHAT_BOT_TOKEN',
    kind: 'string',
    required: true,
    secret: true,
    sentence:
      'Bot User OAuth Token of the Slack app (“OAuth & Permissions”), which sends the replies. Together with TEAMCHAT_SIGNING_SECRET it turns the teamchat channel on.',
    example: 'xoxb-…',
  },
  {
    name: 'TEAMCHAT_SIGNING_SECRET',
    kind: 'string',
    required: true,
    secret: true,
    sentence:
      'Signing Secret of the Slack app (“Basic Information”), which proves that webhooks come from Slack.',
  },
  {
    name: 'TEAMCHAT_API_URL',
    kind: 'url',
    default: 'https://slack.com/api',
    sentence: 'Base address of the Slack Web API. Change it for a proxy or a simulator.',
  },
];

/** The value of a secret setting. An active channel has all secrets. */
export function secret(settings: ChannelSettings, name: string): string {
  const value = settings[name];
  if (typeof value === 'object' && 'reveal' in value) return value.reveal();
  throw new Error(`${name} is not set`);
}
