import { createHmac } from 'node:crypto';

/** The secret with which the platform signs. */
export const SIGNING_SECRET = 'a-signing-secret-for-benchmarks';
export const PATH = '/webhook/teamchat/events';
/** Number of people, who write in turn. There are so many that the loop guard blocks nobody. */
export const PEOPLE = 20_000;

/**
 * Step from one person to the next, so that consecutive messages are not neighbors on disk. It is a prime, so that
 * everybody is reached.
 */
const STRIDE = 7919;

/** Makes signed deliveries with a body of about 1 KB. Each has one direct message, and no two are alike. */
export function deliveries(): () => string {
  let count = 0;
  return () => {
    const person = (count * STRIDE) % PEOPLE;
    const body = bodyOf(person, count++);
    const seconds = Math.floor(Date.now() / 1000);
    const head = [
      `POST ${PATH} HTTP/1.1`,
      'Host: 127.0.0.1',
      'Content-Type: application/json',
      `X-Slack-Request-Timestamp: ${seconds}`,
      `X-Slack-Signature: ${signatureOf(seconds, body)}`,
      `Content-Length: ${body.length}`,
    ];
    return `${head.join('\r\n')}\r\n\r\n${body}`;
  };
}

/** What the agents of these benchmarks answer. */
export const REPLY = 'Your order left our warehouse this morning and arrives on Thursday.';

/** Signature scheme v0, over the time and the exact bytes. */
export function signatureOf(seconds: number | string, body: string | Uint8Array): string {
  return `v0=${createHmac('sha256', SIGNING_SECRET).update(`v0:${seconds}:`).update(body).digest('hex')}`;
}

function bodyOf(person: number, count: number): string {
  const number = String(count).padStart(8, '0');
  const ts = `${Math.floor(Date.now() / 1000)}.${number.slice(2)}`;
  const text = `Where is my order ${number}? It should have come last week, and nobody has told me anything.`;
  const [user, team, channel] = [`U${String(person).padStart(9, '0')}`, 'T0BENCHMARK', `D${person}`];
  return JSON.stringify({
    token: 'a-verification-token-that-nobody',
    team_id: team,
    context_team_id: team,
    context_enterprise_id: null,
    api_app_id: 'A0BENCHMARK',
    event: {
      type: 'message',
      user,
      ts,
      client_msg_id: `00000000-0000-4000-8000-0000${number}`,
      text,
      team,
      blocks: [
        {
          type: 'rich_text',
          block_id: 'AbCdE',
          elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text }] }],
        },
      ],
      channel,
      event_ts: ts,
      channel_type: 'im',
    },
    type: 'event_callback',
    event_id: `Ev${number}`,
    event_time: Math.floor(Date.now() / 1000),
    authorizations: [
      { enterprise_id: null, team_id: team, user_id: 'U0BOT', is_bot: true, is_enterprise_install: false },
    ],
    is_ext_shared_channel: false,
    event_context: '4-eyJldCI6Im1lc3NhZ2UiLCJ0aWQiOiJUMEJFTkNITUFSSyIsImFpZCI6IkEwQkVOQ0hNQVJLIn0',
  });
}
