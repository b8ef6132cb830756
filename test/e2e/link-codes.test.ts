import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import { beforeAll, describe, expect, it } from 'vitest';
import type { SimulatedEvent } from '../../src/channel/index.ts';
import { FakePlatform } from '../support/fake-platform.ts';
import { PLATFORMS } from '../support/platforms.ts';
import { ADA, type Shop, startShop } from '../support/shop.ts';
import { token } from '../support/tokens.ts';

// Tests agentd-identity(7), "Link codes", on the three platforms.

const platforms = new Map<string, FakePlatform>();
let shop: Shop;

beforeAll(async () => {
  for (const { plugin } of PLATFORMS) platforms.set(plugin.name, await FakePlatform.start(plugin));
  const env = Object.assign({}, ...[...platforms.values()].map((platform) => platform.env));
  shop = await startShop({ env: { ...env, LOOP_GUARD_MAX_MESSAGES: '100' } });
});

describe.each(PLATFORMS)('on $plugin.name', ({ plugin: { name }, personOf }) => {
  const written = (code: string) => (name === 'msgbot' ? `/start ${code}` : `link ${code.toLowerCase()}`);
  /** Each platform has its own person, since a person can make only some codes. */
  const sub = `ada on ${name}`;

  // biome-ignore lint/suspicious/noExplicitAny: bodies of several routes
  async function site(method: string, path: string): Promise<any> {
    const headers = { Authorization: `Bearer ${await token({ sub, email: ADA.email })}` };
    const response = await fetch(`${shop.daemon.url}${path}`, { method, headers });
    return response.status === 204 ? null : response.json();
  }

  const platform = () => platforms.get(name) as FakePlatform;

  /** Delivers a message, and resolves when people see an answer like this one. */
  async function say(user: string, event: Partial<SimulatedEvent>, answer: RegExp): Promise<void> {
    const before = platform().shown.length;
    const { status } = await platform().deliver(shop.daemon, { user, ...event });
    expect(status).toBe(200);
    await platform().until(() =>
      platform()
        .shown.slice(before)
        .some(({ text }) => answer.test(text)),
    );
  }

  it('a person connects the chat with a code, and ends the link on the site', async () => {
    const user = personOf(1);
    const made = await site('POST', '/link/codes');
    const { url } = made.channels[name];
    if (name === 'teamchat') expect(url).toMatch(/^https:.*\/team\/U/);
    else
      expect(url).toMatch(
        name === 'msgbot' ? /^https:\/\/t\.me\/\w+\?start=/ : /^https:\/\/wa\.me\/\d+\?text=link%20/,
      );
    const repeated = { text: written(made.code), number: 7001 };
    await say(user, repeated, /^Connect this chat with .*ada@example\.com/);
    expect((await platform().deliver(shop.daemon, { user, ...repeated })).status).toBe(200);
    const path = `/link/codes/${made.id}`;
    expect(await site('GET', path)).toMatchObject({
      state: 'claimed',
      channel: name,
      masked_id: `…${user.slice(-4)}`,
    });
    expect((await site('POST', `${path}/confirm`)).state).toBe('claimed');
    await say(user, { text: 'Yes' }, /This chat is connected with .*ada@example\.com/);
    expect((await site('GET', path)).state).toBe('used');
    await say(user, { text: 'Who am I?' }, /A-1001/);
    expect(shop.lookedUpAs().at(-1)).toBe(sub);

    const { links } = await site('GET', '/links');
    const mine = links.find(({ channel }: { channel: string }) => channel === name);
    expect(mine).toMatchObject({ masked_id: `…${user.slice(-4)}` });
    expect(await site('DELETE', `/links/${mine.id}`)).toBeNull();
    await platform().until(() => platform().shown.some(({ text }) => text.includes('no longer connected')));
    await say(user, { text: 'Who am I?' }, /not signed in/);

    expect(platform().shown.filter(({ text }) => text.startsWith('Connect this chat'))).toHaveLength(1);
    expect(shop.daemon.stderr()).not.toContain(made.code);
    const { stdout } = await shop.run('explain', '--user', user, '--json');
    expect(stdout).toContain('link_code_used');
    expect(stdout.toUpperCase()).not.toContain(made.code);
  });

  it('a user is told once when an administrator replaces or removes their link', async () => {
    const user = personOf(4);
    const shown = (text: string) => platform().shown.filter((one) => one.text.includes(text));
    const link = async (whom: string, ...options: string[]) =>
      shop.run('link', name, user, await token({ sub: whom, email: `${whom}@example.com` }), ...options);
    expect((await link('ada')).stdout).not.toContain('tells the user');
    const replaced = await link('bob', '--replace');
    expect([replaced.code, replaced.stdout]).toEqual([
      0,
      expect.stringContaining('; the daemon tells the user'),
    ]);
    await platform().until(() => shown('connected this chat with another account').length > 0);
    const removed = await shop.run('link', 'remove', name, user, '--json');
    expect(JSON.parse(removed.stdout)).toMatchObject({ removed: true, notifies_user: true });
    await platform().until(() => shown('was ended by an administrator').length > 0);
    await say(user, { text: 'Who am I?' }, /not signed in/);
    expect(shown('connected this chat with another account')).toHaveLength(1);
    expect(shown('was ended by an administrator')).toHaveLength(1);
    expect(
      platform().shown.some(({ text }) => /(ada|bob)@example/.test(text) && /administrator/.test(text)),
    ).toBe(false);
  });

  it('a code in a group ends, and a pressed button answers the question', async () => {
    const [user, other] = [personOf(2), personOf(3)];
    const seen = await site('POST', '/link/codes');
    await platform().deliver(shop.daemon, { user: other, text: seen.code, place: 'group' });
    expect((await site('GET', `/link/codes/${seen.id}`)).state).toBe('expired');

    const { id, code } = await site('POST', '/link/codes');
    await say(user, { text: code }, /^Connect this chat/);
    const decline = platform()
      .shown.flatMap(({ buttons = [] }) => buttons)
      .at(-1);
    expect(decline?.label).toBe('Decline');
    await say(user, { kind: 'press', text: decline?.press ?? '' }, /was not connected/);
    expect((await site('GET', `/link/codes/${id}`)).state).toBe('declined');
  });
});

type Part = string | { textContent: string; onclick?: () => void };

it('the page of agentd-identity(7) connects a chat as printed', async () => {
  const page = readFileSync(resolve(import.meta.dirname, '../../man/agentd-identity.7.md'), 'utf8');
  const script = /<script type="module">\n(.*?)<\/script>/s.exec(page)?.[1] ?? '';
  const ada = await token({ sub: 'ada of the page', email: ADA.email });
  const changed = new EventEmitter();
  const place = {
    shown: [] as Part[],
    replaceChildren(...parts: Part[]): void {
      place.shown = parts;
      changed.emit('shown');
    },
  };
  const press = (label: string) =>
    place.shown.find((part) => typeof part !== 'string' && part.textContent === label) as { onclick(): void };
  const until = async (text: RegExp) => {
    while (!text.test(String(place.shown[0]))) await once(changed, 'shown');
    return String(place.shown[0]);
  };
  const context = createContext({
    document: { querySelector: () => place, createElement: () => ({}) },
    // The page waits two seconds each time; the test does not.
    setTimeout: (work: () => void) => setTimeout(work, 20),
    fetch: (url: string, init: RequestInit) =>
      url === '/agent-token'
        ? Promise.resolve(new Response(ada))
        : fetch(url.replace('https://agent.example.com', shop.daemon.url), init),
  });
  runInContext(script, context);
  press('Connect a chat').onclick();
  const code = /the code (\w{10}) /.exec(await until(/the code/))?.[1] ?? '';
  const platform = platforms.get('msgbot') as FakePlatform;
  const user = '700000099';
  await platform.deliver(shop.daemon, { user, text: `/start ${code}` });
  expect(await until(/Is this your chat/)).toContain('msgbot, User 700000099, …0099');
  press('Yes, connect it').onclick();
  await platform.deliver(shop.daemon, { user, text: 'yes' });
  await until(/Your chat is connected/);
  const before = platform.shown.length;
  await platform.deliver(shop.daemon, { user, text: 'Who am I?' });
  await platform.until(() => platform.shown.slice(before).some(({ text }) => text.includes('A-1001')));
});
