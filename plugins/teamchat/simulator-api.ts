import {
  type ChannelSettings,
  jsonObjectOrNull,
  readSecret,
  type Shown,
  type SimulatedApi,
  type SimulatedApiAnswer,
  type SimulatedApiCall,
  type SimulatedRefusal,
  type SimulatedRefused,
} from '../../src/channel/index.ts';
import { readBlocks } from './simulator-blocks.ts';

/** A workspace that does not exist. The ids have the platform's form. */
export const TEAM = 'T0SIMULATE';
export const APP = 'A0AGENTD';
export const BOT_USER = 'U0AGENTD';
export const BOT_ID = 'B0AGENTD';
export const BOT_NAME = 'agentd';

/** Maximum length of a text, in characters. The platform truncates a longer text and adds a warning. */
const TEXT_MAX = 40_000;

type Arguments = Readonly<Record<string, string>>;
type Answer = Pick<SimulatedApiAnswer, 'body' | 'shown'>;

/**
 * The part of the Web API that the channel uses (https://docs.slack.dev/apis/web-api). The status is always 200; the
 * answer has `ok` or an error.
 */
export function createApi(settings: ChannelSettings): SimulatedApi {
  let posted = 0;
  const methods: Readonly<Record<string, (args: Arguments) => Answer>> = {
    'api.test': (args) => ({ body: { ok: true, args }, shown: [] }),
    'auth.test': () => ({ body: AUTH, shown: [] }),
    'chat.postMessage': (args) => {
      posted++;
      return postMessage(
        args,
        `${Math.floor(Date.now() / 1000)}.${String(posted % 1_000_000).padStart(6, '0')}`,
      );
    },
    'chat.update': updateMessage,
    'chat.postEphemeral': postEphemeral,
    'assistant.threads.setStatus': setStatus,
  };
  return {
    answer(call) {
      const method = call.path.split('?')[0]?.split('/').at(-1) ?? '';
      const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
      const answer =
        run === undefined ? failed('unknown_method', { req_method: method }) : checked(call, run);
      return { status: 200, headers: HEADERS, ...answer };
    },
  };

  function checked(call: SimulatedApiCall, run: (args: Arguments) => Answer): Answer {
    const args = parseArguments(call);
    if (args === null) return failed('invalid_json');
    const bearer = /^Bearer (.+)$/.exec(call.headers.authorization ?? '')?.[1] ?? args.token;
    if (bearer === undefined) return failed('not_authed');
    if (bearer !== readSecret(settings, 'TEAMCHAT_BOT_TOKEN')) return failed('invalid_auth');
    return run(args);
  }
}

/** Each answer lists the scopes of the token in a header. */
const HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'x-oauth-scopes': 'app_mentions:read,chat:write,commands,im:history,reactions:read',
};

const AUTH = {
  ok: true,
  url: 'https://simulate.slack.com/',
  team: 'Simulate',
  user: BOT_NAME,
  team_id: TEAM,
  user_id: BOT_USER,
  bot_id: BOT_ID,
  is_enterprise_install: false,
};

function postMessage({ channel = '', text = '', thread_ts, blocks }: Arguments, ts: string): Answer {
  if (!/^[CDGUW][A-Za-z0-9_-]+$/.test(channel)) return failed('channel_not_found');
  if (text === '') return failed('no_text');
  if (thread_ts !== undefined && !isTimestamp(thread_ts)) return failed('invalid_thread_ts');
  const seen = blocks === undefined ? null : readBlocks(blocks);
  if (blocks !== undefined && seen === null) return failed('invalid_blocks');
  const warning = 'message_truncated';
  const isCut = text.length > TEXT_MAX;
  const message = {
    user: BOT_USER,
    type: 'message',
    ts,
    bot_id: BOT_ID,
    app_id: APP,
    text: text.slice(0, TEXT_MAX),
    team: TEAM,
    ...(thread_ts === undefined ? {} : { thread_ts, parent_user_id: BOT_USER }),
    bot_profile: {
      id: BOT_ID,
      app_id: APP,
      user_id: BOT_USER,
      name: BOT_NAME,
      deleted: false,
      team_id: TEAM,
    },
  };
  return {
    body: {
      ok: true,
      // A message to a user arrives in the direct messages of the user.
      channel: /^[UW]/.test(channel) ? `D${channel.slice(1)}` : channel,
      ts,
      message,
      ...(isCut ? { warning, response_metadata: { warnings: [warning] } } : {}),
    },
    shown: [
      {
        what: 'message',
        to: channel,
        ...(thread_ts === undefined ? {} : { thread: thread_ts }),
        ...withButtons(seen ?? { text: message.text, buttons: [] }),
      },
    ],
  };
}

/**
 * Replaces the text and the blocks of a message of the bot
 * (https://docs.slack.dev/reference/methods/chat.update). The simulator does not remember the messages of an earlier one.
 */
function updateMessage({ channel = '', ts = '', text = '', blocks }: Arguments): Answer {
  if (!/^[CDG][A-Za-z0-9_-]+$/.test(channel)) return failed('channel_not_found');
  if (!isTimestamp(ts)) return failed('message_not_found');
  if (text === '') return failed('no_text');
  const seen = blocks === undefined ? { text, buttons: [] } : readBlocks(blocks);
  if (seen === null) return failed('invalid_blocks');
  return {
    body: { ok: true, channel, ts, text, message: { type: 'message', user: BOT_USER, bot_id: BOT_ID, text } },
    shown: [{ what: 'edited', to: channel, ...withButtons(seen) }],
  };
}

type Seen = Required<Pick<Shown, 'text' | 'buttons'>>;

function withButtons({ text, buttons }: Seen): Pick<Shown, 'text' | 'buttons'> {
  return { text, ...(buttons.length === 0 ? {} : { buttons }) };
}

/** Shows a text to one person only. */
function postEphemeral({ channel = '', user = '', text = '', thread_ts }: Arguments): Answer {
  if (!/^[CDGUW][A-Za-z0-9_-]+$/.test(channel)) return failed('channel_not_found');
  if (!/^[UW][A-Za-z0-9_-]+$/.test(user)) return failed('user_not_in_channel');
  if (text === '') return failed('no_text');
  const thread = thread_ts === undefined ? {} : { thread: thread_ts };
  return {
    body: { ok: true, message_ts: '1.000001' },
    shown: [{ what: 'private', to: user, text, ...thread }],
  };
}

function setStatus({ channel_id = '', thread_ts = '', status = '' }: Arguments): Answer {
  if (!/^[CDG][A-Za-z0-9_-]+$/.test(channel_id)) return failed('channel_not_found');
  if (!isTimestamp(thread_ts)) return failed('invalid_thread_ts');
  const shown = { what: 'typing', to: channel_id, thread: thread_ts, text: status } as const;
  return { body: { ok: true }, shown: status === '' ? [] : [shown] };
}

/** The arguments of a call: from its query, and from its form or JSON. */
function parseArguments({ path, headers, body }: SimulatedApiCall): Arguments | null {
  const query = Object.fromEntries(new URL(path, 'http://api').searchParams);
  const text = Buffer.from(body).toString();
  if (!headers['content-type']?.startsWith('application/json'))
    return { ...query, ...Object.fromEntries(new URLSearchParams(text)) };
  const members = jsonObjectOrNull(text);
  if (members === null) return null;
  const words = Object.entries(members).map(([name, value]) => [
    name,
    typeof value === 'object' ? JSON.stringify(value) : String(value),
  ]);
  return { ...query, ...Object.fromEntries(words) };
}

/** As the platform writes times. The channel also reads those of other programs. */
function isTimestamp(text: string): boolean {
  return /^\d{1,11}\.\d{1,9}$/.test(text);
}

function failed(error: string, more: object = {}): Answer {
  return { body: { ok: false, error, ...more }, shown: [] };
}

/** The Web API answers errors of the caller with status 200 (https://docs.slack.dev/apis/web-api). */
const ERRORS: Readonly<Record<number, { status: number; error: string }>> = {
  401: { status: 200, error: 'invalid_auth' },
  403: { status: 200, error: 'missing_scope' },
  404: { status: 200, error: 'channel_not_found' },
  408: { status: 200, error: 'request_timeout' },
  413: { status: 200, error: 'msg_too_long' },
  429: { status: 429, error: 'ratelimited' },
  500: { status: 500, error: 'internal_error' },
  503: { status: 503, error: 'service_unavailable' },
};
/** The wait after a 429 if the simulation does not set one, in seconds. The platform always sends a wait. */
const RETRY_AFTER = 1;

/** An error of the Web API. */
export function buildRefusal({ status, retry_after_seconds }: SimulatedRefusal): SimulatedRefused {
  const known = ERRORS[status] ?? {
    status: status < 500 ? 200 : status,
    error: status < 500 ? 'invalid_arguments' : 'fatal_error',
  };
  const seconds = retry_after_seconds ?? (status === 429 ? RETRY_AFTER : null);
  return {
    status: known.status,
    headers: seconds === null ? {} : { 'Retry-After': String(seconds) },
    body: { ok: false, error: known.error },
  };
}
