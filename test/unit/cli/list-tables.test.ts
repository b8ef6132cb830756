import { describe, expect, it } from 'vitest';
import { type Column, createOutput } from '../../../src/cli/output.ts';
import { ACTION_COLUMNS } from '../../../src/cli/views/action-view.ts';
import { FEEDBACK_COLUMNS } from '../../../src/cli/views/feedback-view.ts';
import { MESSAGE_COLUMNS } from '../../../src/cli/views/inbox-view.ts';
import { LINK_LIST_COLUMNS } from '../../../src/cli/views/link-view.ts';
import { MEMORY_COLUMNS } from '../../../src/cli/views/memory-view.ts';
import { SESSION_COLUMNS } from '../../../src/cli/views/session-view.ts';
import { capture } from './captured-output.ts';

const NOW = Date.now();
const MAIL = 'ada.lovelace.of.the.analytical.engine@engines.example.com';
const USER = 'phonechat-user-4915112345678';
const PERSON = { sub: 'auth0|0123456789abcdef', issuer: 'https://issuer.example.com', tenant_id: null };

/** One item for each list, with values that are as long as real ones. */
const SESSION = {
  session_id: 'phonechat_4915112345678',
  short_id: 'phonechat_4915112345678',
  platform: 'phonechat',
  user_id: USER,
  state: 'SessionExpired',
  turns: 12345,
  owner: null,
  credential_owner: null,
  metadata: { jwt_context: { email: MAIL } },
  last_active_at: NOW - 50 * 60_000,
};
const LINK = {
  platform: 'phonechat',
  user_id: USER,
  email: MAIL,
  person: PERSON,
  state: 'token_expired',
  token_expires_at: NOW,
  link_expires_at: NOW,
  how: 'operator',
  made_at: NOW,
  expires_at: NOW - 50 * 60_000,
  renewed_at: null,
  renewal_failed: null,
  renewal_failed_at: null,
};
const ACTION = {
  time: NOW - 50 * 60_000,
  name: MAIL,
  person: PERSON,
  operator: null,
  tool: 'shop_changeTheAddressOfAnOrder',
  outcome: 'failed',
  status: 409,
  session_id: 'phonechat_4915112345678',
  summary: 'Change your address to "12 Analytical Way, London"',
};
const MESSAGE = {
  id: '01a223c7-ac20-74f3-81c3-d9dc21e4021f',
  short_id: '01a223c7-ac2',
  platform: 'phonechat',
  message: { user_id: USER },
  name: MAIL,
  state: 'failed',
  attempts: 12,
  sends: 3,
  interrupted: 0,
  session_id: 's',
  notice: 'Sorry.',
  notice_failure: null,
  reply: null,
  failure: 'agent_timeout: the model did not answer within the time limit of the daemon',
  received_at: NOW - 50 * 60_000,
  next_attempt_at: NOW,
  ended_at: NOW,
  isFirst: true,
  now: NOW,
};
/** A message whose reply waits for its platform. */
const WAITING = {
  ...MESSAGE,
  state: 'replied',
  notice: null,
  reply: 'Hello',
  ended_at: null,
  outage: { platform: 'phonechat', probe_at: NOW + 40 * 60_000 },
  failure: 'delivery_failed: the platform could not be reached: ECONNREFUSED',
};
const RATING = {
  rated_at: NOW - 50 * 60_000,
  platform: 'phonechat',
  user_id: USER,
  name: MAIL,
  rating: -1,
  has_comment: true,
  message_id: MESSAGE.id,
  short_id: '01a223c7-ac2',
};
const MEMORY = {
  memory_id: MESSAGE.id,
  short_id: '01a223c7',
  created_at: NOW - 50 * 60_000,
  tainted: true,
  text: 'Drinks green tea, and has asked for an invoice with each order since June',
};

const LISTS: [string, readonly Column<never>[], object][] = [
  ['sessions list', SESSION_COLUMNS, SESSION],
  ['link list', LINK_LIST_COLUMNS, LINK],
  ['actions list', ACTION_COLUMNS, ACTION],
  ['inbox list', MESSAGE_COLUMNS, MESSAGE],
  ['inbox list', MESSAGE_COLUMNS, WAITING],
  ['feedback list', FEEDBACK_COLUMNS, RATING],
  ['memory list', MEMORY_COLUMNS, MEMORY],
];

const table = (columns: readonly Column<never>[], item: object, width: number, more: object = {}) =>
  createOutput({
    json: false,
    stdout: capture({ columns: width }),
    stderr: capture(),
    env: { NO_COLOR: '1' },
    ...more,
  }).table(columns, [item, item] as never[]);

describe.each(LISTS)('the table of `agentd %s`', (_name, columns, item) => {
  it.each([80, 120])('fits a terminal with %i columns, with one line of titles', (width) => {
    const shown = table(columns, item, width);
    const lines = shown.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^[A-Z]+ {2}/);
    for (const line of lines) expect([...line].length, shown).toBeLessThanOrEqual(width);
    // Without titles before each value, it is a table and not a block for each item.
    expect(lines.filter((line) => line.startsWith(lines[0]?.split(' ')[0] ?? ''))).toHaveLength(1);
  });

  it('shows all columns and whole values with --wide', () => {
    const [titles = '', row = ''] = table(columns, item, 80, { wide: true }).split('\n');
    for (const { title, isWide, isRare } of columns)
      if (title !== undefined && isWide !== false && !isRare) expect(titles).toContain(title);
    expect(row).not.toContain('…');
  });
});

describe('a table', () => {
  it('names the person by e-mail address where it is known, and colors states', () => {
    const shown = table(SESSION_COLUMNS, { ...SESSION, state: 'ValidJWT' }, 120, { env: {} });
    expect(shown).toContain(MAIL.slice(0, 20));
    expect(shown).toContain('\u{1b}[32msigned in\u{1b}[39m');
    const anonymous = { ...SESSION, metadata: {}, state: 'NoJWT' };
    expect(table(SESSION_COLUMNS, anonymous, 120)).toContain(USER);
  });

  it('of links shows why a renewal failed only if one has, and one time, unless it is wide', () => {
    const titlesOf = (link: object, more: object) => table(LINK_LIST_COLUMNS, link, 200, more).split('\n')[0];
    expect(titlesOf(LINK, { wide: true })).toMatch(
      / TOKEN EXPIRES +LINK EXPIRES +MADE WITH +RENEWED +NOT RENEWED$/,
    );
    expect(titlesOf(LINK, {})).toMatch(/ MADE WITH +EXPIRES$/);
    const failed = { ...LINK, renewed_at: NOW, renewal_failed: 'refused' };
    expect(titlesOf(failed, {})).toMatch(/ EXPIRES +NOT RENEWED$/);
    expect(titlesOf(failed, { wide: true })).toMatch(/ MADE WITH +RENEWED +NOT RENEWED$/);
  });

  it('has short times and titles of channels, unless it is wide', () => {
    expect(table(SESSION_COLUMNS, SESSION, 80)).toMatch(/WhatsApp .* 50 min ago/);
    expect(table(SESSION_COLUMNS, SESSION, 80, { wide: true })).toMatch(
      /phonechat \(WhatsApp\) .* 50 minutes ago/,
    );
  });
});
