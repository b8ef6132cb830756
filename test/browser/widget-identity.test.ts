import { beforeEach, describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { withoutBrowser } from './browser.ts';
import { problem } from './fake-chat.ts';
import { tokenFor } from './site-token.ts';
import { openRoom, type Visitor, visit } from './visitor.ts';

const { chat, browser } = openRoom();

const enter = () => visit(browser.context, chat.url);
const shows = (visitor: Visitor, text: string | RegExp) => visitor.answer.filter({ hasText: text }).waitFor();

describe.skipIf(withoutBrowser)('the signed-in person', () => {
  const asked = { 'data-token-url': '/token' };

  it('is looked up at the site once, and again when the token expires in less than five minutes', async () => {
    chat.page.attributes = { ...asked, ...chat.page.attributes };
    chat.token = tokenFor('ada', { seconds: 3600 });
    const visitor = await enter();
    await visitor.say('One');
    await shows(visitor, 'Fine.');
    await visitor.say('Two');
    await until(() => chat.received.length === 2);
    expect(chat.tokenAsked).toBe(1);
    expect(chat.received.map(({ body }) => body.jwt_token)).toEqual([chat.token, chat.token]);
    await visitor.page.close();

    chat.token = tokenFor('ada', { seconds: 290 });
    const later = await enter();
    await later.say('Three');
    await shows(later, 'Fine.');
    chat.token = tokenFor('ada', { seconds: 3600 });
    await later.say('Four');
    await until(() => chat.received.length === 4);
    expect(chat.received.at(-1)?.body.jwt_token).toBe(chat.token);
  });

  it('is known to the stream by a cookie: no address contains the token', async () => {
    chat.page.attributes = { ...asked, ...chat.page.attributes };
    chat.token = tokenFor('ada');
    const requests: [address: string, cookie: string | undefined][] = [];
    chat.refuse = ({ url = '', headers }) => {
      requests.push([url, headers.cookie]);
      return null;
    };
    const visitor = await enter();
    await visitor.say('Hello');
    await shows(visitor, 'Fine.');
    const [stream] = requests.filter(([address]) => address.startsWith('/sse/stream/'));
    expect(stream?.[0]).toMatch(/^\/sse\/stream\/[\w-]+\?details=tools$/);
    expect(stream?.[1]).toBe(`jwt_token=${chat.token}`);
    expect(requests.filter(([address]) => address.includes(String(chat.token)))).toEqual([]);
  });

  it('can sign out: the conversation disappears, and the next message has no token and no session', async () => {
    chat.page.attributes = { ...asked, ...chat.page.attributes };
    chat.token = tokenFor('ada');
    const visitor = await enter();
    await visitor.say('My secret');
    await shows(visitor, 'Fine.');
    chat.token = null;
    await visitor.page.evaluate(() => window.agentdWebchat?.identityChanged?.());
    await visitor.chat.getByText('You are no longer signed in').first().waitFor();
    expect(await visitor.chat.getByText('My secret').count()).toBe(0);
    expect(await visitor.heard()).toEqual(['You are no longer signed in. This is a new conversation.']);
    await visitor.say('Hello');
    await shows(visitor, 'Fine.');
    expect(chat.received.at(-1)?.body).toMatchObject({ jwt_token: null, session_id: null });
  });

  it.each([
    ['for as long as nobody else signs in', {}],
    ['for as long as the tab is open', { 'data-history': 'off' }],
  ])(
    'can change between page loads: the previous person’s conversation, stored %s, is neither shown nor stored',
    async (_how, attributes) => {
      chat.page.attributes = { ...asked, ...attributes };
      chat.token = tokenFor('ada');
      const visitor = await enter();
      await visitor.say('My secret');
      await shows(visitor, 'Fine.');
      chat.token = tokenFor('grace');
      await visitor.page.goto(`${chat.url}/elsewhere`);
      await visitor.chat.waitFor();
      expect(await visitor.chat.getByText('My secret').count()).toBe(0);
      expect(
        await visitor.page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }])),
      ).not.toContain('My secret');
    },
  );

  it('continues the conversation that the visitor began in this tab before sign-in, also after a page load', async () => {
    chat.page.attributes = { ...asked, ...chat.page.attributes };
    chat.token = null;
    const visitor = await enter();
    await visitor.say('Where is my order?');
    await shows(visitor, 'Fine.');
    chat.token = tokenFor('ada');
    await visitor.page.goto(`${chat.url}/elsewhere`);
    await visitor.chat.getByText('Where is my order?').waitFor();
    await visitor.say('And now?');
    await until(() => chat.received.length === 2);
    const [before, after] = chat.received.map(({ body }) => body);
    expect(before).toMatchObject({ jwt_token: null, session_id: null });
    expect(after).toMatchObject({ jwt_token: chat.token, session_id: expect.any(String) });
  });

  it('is not known if the site cannot say it: then no conversation is shown, and none is deleted', async () => {
    const token = (answer: string) => `window.agentdWebchat = { token: () => { ${answer}; } };`;
    chat.page.script = token(`return '${tokenFor('ada')}'`);
    const visitor = await enter();
    await visitor.say('My secret');
    await shows(visitor, 'Fine.');
    chat.page.script = token("throw new Error('down')");
    await visitor.page.goto(`${chat.url}/elsewhere`);
    await visitor.chat.waitFor();
    expect(await visitor.chat.getByText('My secret').count()).toBe(0);
    chat.page.script = token(`return '${tokenFor('ada')}'`);
    await visitor.page.goto(`${chat.url}/elsewhere`);
    await visitor.chat.getByText('My secret').waitFor();
  });

  it('may have an id of the site: the conversation of another id is not shown', async () => {
    chat.page.attributes = { 'data-user-id': 'u1' };
    const visitor = await enter();
    await visitor.say('My secret');
    await shows(visitor, 'Fine.');
    chat.page.attributes = { 'data-user-id': 'u2' };
    await visitor.page.goto(`${chat.url}/elsewhere`);
    await visitor.chat.waitFor();
    expect(await visitor.chat.getByText('My secret').count()).toBe(0);
    await visitor.say('Hello');
    await until(() => chat.received.length === 2);
    expect(chat.received.at(-1)?.body).toMatchObject({ user_id: 'u2', session_id: null });
  });

  it('can be looked up with a function of the site; if it fails, the widget keeps the current token', async () => {
    chat.page.script = `let calls = 0; window.agentdWebchat = { token: () => { if (calls++) throw new Error('down'); return '${tokenFor('ada', { seconds: 200 })}'; } };`;
    const visitor = await enter();
    await visitor.say('One');
    await shows(visitor, 'Fine.');
    await visitor.say('Two');
    await until(() => chat.received.length === 2);
    expect(chat.received[1]?.body.jwt_token).toBe(chat.received[0]?.body.jwt_token);
    expect(chat.received[1]?.body.jwt_token).not.toBeNull();
  });

  it('can change while the page is hidden: the new person can neither read nor restore the conversation', async () => {
    chat.page.attributes = { ...asked, ...chat.page.attributes };
    chat.token = tokenFor('ada');
    const visitor = await enter();
    await visitor.say('My secret');
    await shows(visitor, 'Fine.');
    await visitor.chat.getByRole('button', { name: 'New conversation' }).click();
    await visitor.chat.getByRole('button', { name: 'Undo' }).waitFor();
    chat.token = tokenFor('grace');
    // The browser sends this event when the tab becomes visible again.
    await visitor.page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await visitor.chat.getByText('Somebody else has signed in').first().waitFor();
    expect(await visitor.chat.getByRole('button', { name: 'Undo' }).isVisible()).toBe(false);
    expect(
      await visitor.page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }])),
    ).not.toContain('My secret');
  });

  it('can change before a retry: the first person’s message is not sent for the second person', async () => {
    chat.page.attributes = { ...asked, ...chat.page.attributes };
    chat.token = tokenFor('ada', { seconds: 200 });
    const visitor = await enter();
    chat.refuse = ({ method }) => (method === 'POST' ? problem(502, 'agent_failed') : null);
    await visitor.say('My secret');
    await visitor.trouble.waitFor();
    chat.refuse = () => null;
    chat.token = tokenFor('grace');
    await visitor.trouble.getByRole('button', { name: 'Try again' }).click();
    await visitor.chat.getByText('Somebody else has signed in').first().waitFor();
    await visitor.say('Hello');
    await shows(visitor, 'Fine.');
    expect(chat.received.map(({ body }) => body.message)).toEqual(['Hello']);
  });
});

/**
 * Makes the fake give the session a new id at sign-in, as the service does. A later message with a token and the old id
 * starts yet another session.
 * @returns the ids of the sessions before and after sign-in
 */
function renameAtSignIn(): { before: string[]; after: string[] } {
  const ids = { before: [] as string[], after: [] as string[] };
  chat.sessionOf = ({ session_id, jwt_token }) => {
    const list = jwt_token ? ids.after : ids.before;
    if (list.length > 0 && list.includes(String(session_id))) return String(session_id);
    list.push(`sse_${jwt_token ? 'after' : 'before'}_${list.length}`);
    return String(list.at(-1));
  };
  return ids;
}

const sessions = () => chat.received.map(({ body }) => body.session_id);

describe.skipIf(withoutBrowser)('the new session id after sign-in', () => {
  beforeEach(() => {
    chat.page.attributes = { 'data-token-url': '/token' };
    renameAtSignIn();
  });

  async function signInAfterFirst(visitor: Visitor): Promise<void> {
    await visitor.say('As nobody');
    await shows(visitor, 'Fine.');
    chat.token = tokenFor('ada');
    await visitor.page.evaluate(() => window.agentdWebchat?.identityChanged?.());
  }

  it.each([
    ['as a stream', () => null],
    [
      'in one piece',
      ({ url }: { url?: string | undefined }) => (url === '/sse/chat' ? problem(404, 'not_found') : null),
    ],
  ])(
    'is used for the next message if the answer arrives %s, and also after a page load',
    async (_way, refuse) => {
      chat.refuse = refuse;
      const visitor = await enter();
      await signInAfterFirst(visitor);
      await visitor.say('As Ada');
      await until(() => chat.received.length === 2);
      await visitor.chat.getByRole('button', { name: 'Send message' }).waitFor();
      await visitor.say('Again');
      await until(() => chat.received.length === 3);
      await visitor.chat.getByRole('button', { name: 'Send message' }).waitFor();
      await visitor.page.reload();
      await visitor.say('And again');
      await until(() => chat.received.length === 4);
      expect(sessions()).toEqual([null, 'sse_before_0', 'sse_after_0', 'sse_after_0']);
      // The visitor's earlier messages are still shown.
      await visitor.chat.getByText('As nobody').waitFor();
    },
  );

  it('is stored while the answer is still being written, and is used even if the answer then fails', async () => {
    const visitor = await enter();
    await signInAfterFirst(visitor);
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    chat.script = async (run) => {
      run.say('Half');
      await goOn;
      run.fail('agent_failed');
    };
    await visitor.say('As Ada');
    await shows(visitor, 'Half');
    expect(await visitor.page.evaluate(() => JSON.stringify({ ...localStorage }))).toContain('sse_after_0');
    resolve();
    await visitor.trouble.getByRole('button', { name: 'Try again' }).click();
    await until(() => chat.received.length === 3);
    expect(sessions()).toEqual([null, 'sse_before_0', 'sse_after_0']);
  });

  it('is used after the browser has restored a page from its back/forward cache', async () => {
    chat.page.attributes = { ...chat.page.attributes, 'data-history': 'off' };
    const visitor = await enter();
    await visitor.say('As nobody');
    await shows(visitor, 'Fine.');
    const first = await visitor.page.evaluate(() => JSON.stringify({ ...sessionStorage }));
    await signInAfterFirst(visitor);
    await visitor.say('As Ada');
    await until(() => chat.received.length === 3);
    await visitor.chat.getByRole('button', { name: 'Send message' }).waitFor();
    const second = await visitor.page.evaluate(() => JSON.stringify({ ...sessionStorage }));
    // Simulates the back/forward cache: the page is shown again with the storage of the first page, and then with the
    // storage that the second page left.
    await visitor.page.evaluate((kept) => {
      for (const [name, value] of Object.entries(JSON.parse(kept)))
        sessionStorage.setItem(name, String(value));
    }, first);
    await visitor.page.evaluate(() =>
      window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })),
    );
    await until(async () => (await visitor.chat.getByText('As Ada').count()) === 0);
    await visitor.page.evaluate((kept) => {
      for (const [name, value] of Object.entries(JSON.parse(kept)))
        sessionStorage.setItem(name, String(value));
      window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
    }, second);
    await visitor.chat.getByText('As Ada').waitFor();
    await visitor.say('Again');
    await until(() => chat.received.length === 4);
    expect(sessions().at(-1)).toBe('sse_after_0');
  });
});

describe.skipIf(withoutBrowser)('a session that belongs to somebody else', () => {
  it('is abandoned, and the message is sent in a new session', async () => {
    const visitor = await enter();
    await visitor.say('Hello');
    await shows(visitor, 'Fine.');
    let refused = 0;
    chat.refuse = ({ url }) =>
      url === '/sse/chat' && refused++ === 0 ? problem(403, 'session_forbidden') : null;
    await visitor.say('Go on');
    await visitor.chat.getByText('This is a new conversation.').first().waitFor();
    await shows(visitor, 'Fine.');
    expect(chat.received.at(-1)?.body).toMatchObject({ message: 'Go on', session_id: null });
  });

  it('causes no endless retries: if the service refuses a new session too, the widget stops trying', async () => {
    let asked = 0;
    chat.refuse = ({ url }) => {
      if (url !== '/sse/chat') return null;
      asked++;
      return problem(403, 'session_forbidden');
    };
    const visitor = await enter();
    await visitor.say('Hello');
    await visitor.trouble.getByRole('button', { name: 'Try again' }).waitFor();
    expect(asked).toBe(1);
  });
});
