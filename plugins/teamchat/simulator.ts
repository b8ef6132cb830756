import { hash, randomUUID } from 'node:crypto';
import type { ChannelSettings, PlatformSimulator, Shown, SimulatedEvent } from '../../src/channel/index.ts';
import { RecentMap, readSecret } from '../../src/channel/index.ts';
import { escapeText, readText } from './read-text.ts';
import { APP, BOT_ID, BOT_NAME, BOT_USER, buildRefusal, createApi, TEAM } from './simulator-api.ts';
import { signRequest } from './verify.ts';

/** Simulates Slack: one workspace with one channel, direct messages, and the bot. */
export function createSimulator(): PlatformSimulator {
  const timestamps = new Timestamps();
  return {
    devSettings: (deriveSecret, api_url) => ({
      TEAMCHAT_BOT_TOKEN: `xoxb-${deriveSecret('bot-token')}`,
      TEAMCHAT_SIGNING_SECRET: deriveSecret('signing-secret'),
      TEAMCHAT_API_URL: api_url,
    }),
    apiUrlSetting: 'TEAMCHAT_API_URL',
    who: () => PEOPLE,
    delivery(event, settings) {
      const { path, body } = requestFor(event, timestamps);
      const isForm = path !== 'events';
      return {
        method: 'POST',
        path: `/webhook/teamchat/${path}`,
        headers: {
          'Content-Type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
          Accept: isForm ? 'application/json,*/*' : '*/*',
          'User-Agent': 'Slackbot 1.0 (+https://api.slack.com/robots)',
          ...signed(body, chooseSigningKey(settings, event)),
        },
        body,
      };
    },
    sign: (request, settings) => ({
      ...request,
      headers: { ...request.headers, ...signed(request.body, chooseSigningKey(settings)) },
    }),
    seenIn: (event) => [toChannelId(event), event.user],
    shownOf: ({ status, body }) => (status === 200 ? ephemeral(body) : []),
    refusal: buildRefusal,
    readable: readText,
    startApi: (settings) => createApi(settings),
  };
}

function requestFor(event: SimulatedEvent, timestamps: Timestamps): { path: string; body: string } {
  switch (event.kind) {
    case 'command':
      return { path: 'commands', body: commandForm(event) };
    case 'press':
      return { path: 'interactive', body: pressForm(event, timestamps) };
    default:
      return { path: 'events', body: eventBody(event, timestamps) };
  }
}

/** The signature covers the time of the delivery, not of the message. */
function signed(body: string, key: string): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  return {
    'X-Slack-Request-Timestamp': timestamp,
    'X-Slack-Signature': signRequest(key, timestamp, body),
  };
}

function chooseSigningKey(
  settings: ChannelSettings,
  { bad_signature = false }: Partial<SimulatedEvent> = {},
): string {
  return bad_signature ? 'another secret' : readSecret(settings, 'TEAMCHAT_SIGNING_SECRET');
}

/** The part of an answer that the sender of a command sees. An answer in plain text is shown as well. */
function ephemeral(body: string): Shown[] {
  const shown = (text: string): Shown[] => (text === '' ? [] : [{ what: 'private', to: 'you', text }]);
  if (!body.startsWith('{')) return shown(body);
  const { response_type, text = '' } = JSON.parse(body) as { response_type?: string; text?: string };
  return response_type === 'ephemeral' ? shown(text) : [];
}

/** Maximum number of messages whose time is remembered. */
const REMEMBERED_MAX = 10_000;

/** The times at which messages were sent. The time identifies a message, so it is the same in each delivery. */
class Timestamps {
  readonly #known = new RecentMap<string, string>(REMEMBERED_MAX);

  of(event: SimulatedEvent): string {
    const key = `${toChannelId(event)}:${event.number}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const ts = `${Math.floor(event.sent_at / 1000)}.${String(event.number % 1_000_000).padStart(6, '0')}`;
    this.#known.set(key, ts);
    return ts;
  }
}

/** The body of an event as the platform writes JSON: slashes and all non-ASCII characters are escaped. */
function eventBody(event: SimulatedEvent, timestamps: Timestamps): string {
  const ts = timestamps.of(event);
  const json = JSON.stringify(envelope(EVENTS[event.kind as keyof typeof EVENTS](event, ts)));
  return json
    .replaceAll('/', '\\/')
    .replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function commandForm(event: SimulatedEvent): string {
  const [command = '', ...words] = event.text.trim().split(/\s+/);
  const channel = toChannelId(event);
  return new URLSearchParams({
    token: 'an-old-verification-token',
    team_id: TEAM,
    team_domain: 'simulate',
    channel_id: channel,
    channel_name: event.place === 'group' ? 'lounge' : 'directmessage',
    user_id: event.user,
    user_name: event.user_name ?? event.user.toLowerCase(),
    command,
    text: words.join(' '),
    api_app_id: APP,
    is_enterprise_install: 'false',
    response_url: `https://hooks.slack.com/commands/${TEAM}/${event.number}/simulated`,
    trigger_id: `${event.number}.${event.number}.simulated`,
  }).toString();
}

type Members = Record<string, unknown>;

const EVENTS: Readonly<Record<Exclude<SimulatedEvent['kind'], 'command' | 'press'>, typeof written>> = {
  message: written,
  edit: changed,
  other: (event, ts) => {
    const name = 'picture.png';
    const file = {
      id: `F${event.number}`,
      created: seconds(ts),
      name,
      title: name,
      ...PICTURE,
      user: event.user,
    };
    return { ...written({ ...event, text: '' }, ts), subtype: 'file_share', files: [file], upload: false };
  },
  status: ofBot,
};

const PICTURE = {
  mimetype: 'image/png',
  filetype: 'png',
  pretty_type: 'PNG',
  editable: false,
  size: 1024,
  mode: 'hosted',
  is_external: false,
  external_type: '',
  is_public: false,
  public_url_shared: false,
  display_as_bot: false,
  username: '',
  has_rich_preview: false,
};

/** In the channel, a message mentions the bot, so the type of its event is `app_mention`. */
function written(event: SimulatedEvent, ts: string): Members {
  return { ...placed(event, ts), ...message(event, ts, escapeText(event.text)) };
}

/** The event of an edit contains the message before and after the edit. */
function changed(event: SimulatedEvent, ts: string): Members {
  const now = Math.floor(Date.now() / 1000);
  const base = { type: 'message' };
  const before = { ...base, ...message(event, ts, `${escapeText(event.text)} (as it was before)`) };
  const after = {
    ...base,
    ...message(event, ts, escapeText(event.text)),
    edited: { user: event.user, ts: `${now}.000000` },
    source_team: TEAM,
    user_team: TEAM,
  };
  return {
    type: 'message',
    subtype: 'message_changed',
    message: after,
    previous_message: before,
    channel: toChannelId(event),
    hidden: true,
    ts: `${now}.000100`,
    event_ts: `${now}.000100`,
    channel_type: event.place === 'group' ? 'channel' : 'im',
  };
}

/** The platform has no delivery receipts. It sends the event of the bot's own message instead. */
function ofBot(event: SimulatedEvent, ts: string): Members {
  const { client_msg_id: _users, ...rest } = message(
    { ...event, user: BOT_USER },
    ts,
    escapeText(event.text),
  );
  return {
    ...rest,
    type: 'message',
    bot_id: BOT_ID,
    app_id: APP,
    bot_profile: {
      id: BOT_ID,
      deleted: false,
      name: BOT_NAME,
      updated: seconds(ts),
      app_id: APP,
      user_id: BOT_USER,
      icons: {},
      team_id: TEAM,
    },
    channel: toChannelId(event),
    event_ts: ts,
    channel_type: event.place === 'group' ? 'channel' : 'im',
  };
}

function placed(event: SimulatedEvent, ts: string): Members {
  const channel = toChannelId(event);
  if (event.place === 'group') return { type: 'app_mention', channel, event_ts: ts };
  return { type: 'message', channel, event_ts: ts, channel_type: 'im' };
}

function message(event: SimulatedEvent, ts: string, words: string): Members {
  const text = event.place === 'group' ? `<@${BOT_USER}> ${words}`.trim() : words;
  return {
    user: event.user,
    ts,
    client_msg_id: uuid(`${toChannelId(event)}:${ts}`),
    text,
    team: TEAM,
    ...(event.thread === undefined
      ? {}
      : { thread_ts: toThreadTs(event.thread), parent_user_id: event.user }),
    ...(event.user_name === undefined ? {} : { user_profile: profile(event.user_name) }),
    blocks: [
      {
        type: 'rich_text',
        block_id: uuid(text).slice(0, 5),
        elements: [{ type: 'rich_text_section', elements: elements(event) }],
      },
    ],
  };
}

function elements({ place, text }: SimulatedEvent): Members[] {
  const words = { type: 'text', text: place === 'group' ? ` ${text}` : text };
  return place === 'group' ? [{ type: 'user', user_id: BOT_USER }, words] : [words];
}

function profile(name: string): Members {
  return {
    avatar_hash: 'g0000000000',
    image_72: 'https://secure.gravatar.com/avatar/0.jpg',
    first_name: name.split(' ')[0],
    real_name: name,
    display_name: name,
    team: TEAM,
    name: name.toLowerCase().replaceAll(' ', '.'),
    is_restricted: false,
    is_ultra_restricted: false,
  };
}

/** @see https://docs.slack.dev/apis/events-api#callback-field */
function envelope(event: Members): Members {
  return {
    token: 'an-old-verification-token',
    team_id: TEAM,
    context_team_id: TEAM,
    context_enterprise_id: null,
    api_app_id: APP,
    event,
    type: 'event_callback',
    // Each delivery has a different id, so only its message shows that the delivery is a repeat.
    event_id: `Ev${randomUUID().replaceAll('-', '').slice(0, 9).toUpperCase()}`,
    event_time: Math.floor(Date.now() / 1000),
    authorizations: [
      { enterprise_id: null, team_id: TEAM, user_id: BOT_USER, is_bot: true, is_enterprise_install: false },
    ],
    is_ext_shared_channel: false,
    event_context: '4-simulated',
  };
}

function seconds(ts: string): number {
  return Math.floor(Number(ts));
}

function uuid(from: string): string {
  const hex = hash('sha256', from, 'hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    '-',
  );
}

const LOUNGE = 'C0LOUNGE';
const PEOPLE: readonly string[] = ['U0ADA', 'U0GRACE', 'U0LINUS'];

/** The only channel, or the direct messages of the sender. */
function toChannelId({ place, user }: Pick<SimulatedEvent, 'place' | 'user'>): string {
  return place === 'group' ? LOUNGE : `D${user.replace(/^[UW]/, '')}`;
}

/** The root of a thread; always the same for the same name. */
function toThreadTs(thread: string): string {
  const digest = hash('sha256', thread, 'buffer');
  const seconds = 1_700_000_000 + (digest.readUInt32BE(0) % 10_000_000);
  return `${seconds}.${String(digest.readUInt32BE(4) % 1_000_000).padStart(6, '0')}`;
}

/**
 * The form that the platform posts when a button is pressed
 * (https://docs.slack.dev/reference/interaction-payloads/block_actions-payload).
 */
function pressForm(event: SimulatedEvent, timestamps: Timestamps): string {
  const ts = timestamps.of(event);
  const channel = toChannelId(event);
  // In a channel, the bot answers in the thread of the message. A message outside of threads begins a new thread.
  const root = event.thread === undefined ? ts : toThreadTs(event.thread);
  const thread = event.thread === undefined && event.place === 'direct' ? {} : { thread_ts: root };
  const payload = {
    type: 'block_actions',
    user: {
      id: event.user,
      username: event.user_name ?? event.user.toLowerCase(),
      name: event.user_name ?? event.user.toLowerCase(),
      team_id: TEAM,
    },
    api_app_id: APP,
    token: 'an-old-verification-token',
    container: { type: 'message', message_ts: ts, channel_id: channel, is_ephemeral: false, ...thread },
    trigger_id: `${event.number}.${event.number}.simulated`,
    team: { id: TEAM, domain: 'simulate' },
    enterprise: null,
    is_enterprise_install: false,
    channel: { id: channel, name: event.place === 'group' ? 'lounge' : 'directmessage' },
    message: {
      type: 'message',
      user: BOT_USER,
      bot_id: BOT_ID,
      app_id: APP,
      ts,
      team: TEAM,
      text: '',
      ...thread,
    },
    state: { values: {} },
    response_url: `https://hooks.slack.com/actions/${TEAM}/${event.number}/simulated`,
    actions: [
      {
        type: 'button',
        action_id: 'simulated',
        block_id: 'b1',
        text: { type: 'plain_text', text: 'Button', emoji: false },
        value: event.text,
        action_ts: `${Math.floor(event.sent_at / 1000)}.${String(event.number % 1_000_000).padStart(6, '0')}`,
      },
    ],
  };
  return new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
}
