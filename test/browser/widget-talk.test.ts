import { describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { withoutBrowser } from './browser.ts';
import { problem } from './fake-chat.ts';
import { follow, openRoom, type Visitor, visit } from './visitor.ts';

const { chat, browser } = openRoom();

const enter = (options?: { clock: boolean }) => visit(browser.context, chat.url, options);
const shows = (visitor: Visitor, text: string | RegExp) => visitor.answer.filter({ hasText: text }).waitFor();
const runs = () => [...chat.runs.values()].map(({ starts }) => starts);

describe.skipIf(withoutBrowser)('an answer', () => {
  it('is shown while it is being written, and the next message is sent in the same session', async () => {
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    chat.script = async (run) => {
      run.say('The **first** part');
      await goOn;
      run.say(', and the rest.');
      run.end();
    };
    const visitor = await enter();
    await visitor.say('Hello');
    await shows(visitor, /^The first part$/);
    expect(await visitor.answer.locator('strong').textContent()).toBe('first');
    resolve();
    await shows(visitor, /^The first part, and the rest\.$/);
    const { session_id } = chat.lastRun;
    chat.script = (run) => {
      run.say('Again.');
      run.end();
    };
    await visitor.say('More');
    await shows(visitor, 'Again.');
    const [first, second] = chat.received;
    expect(first).toMatchObject({
      path: '/sse/chat',
      body: { message: 'Hello', session_id: null, jwt_token: null },
    });
    expect(first?.body.metadata).toEqual({ page_url: `${chat.url}/` });
    expect(second?.body).toMatchObject({ session_id, user_id: first?.body.user_id });
    expect(second?.key).not.toBe(first?.key);
    expect(visitor.complaints).toEqual([]);
  });

  it('is shown with a description of what each tool does', async () => {
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    chat.script = async (run) => {
      run.tool('get_user', 'started');
      await goOn;
      run.tool('get_user', 'completed');
      run.tool('send_invoice', 'started');
      run.tool('send_invoice', 'failed');
      run.tool('shop_cancelOrder', 'started');
      run.tool('shop_cancelOrder', 'completed');
      run.say('Done.');
      run.end();
    };
    const visitor = await enter();
    await visitor.say('Who am I?');
    await visitor.chat.locator('.tool:has(.spinner)', { hasText: 'Looking up the account…' }).waitFor();
    resolve();
    await shows(visitor, 'Done.');
    expect(await visitor.chat.locator('.tool').allTextContents()).toEqual([
      'Looking up the account',
      'Send invoice: that did not work',
      'Shop cancel order',
    ]);
  });

  it('is requested for the first of two messages that are entered at once; the second stays in the field', async () => {
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    chat.script = async (run) => {
      await goOn;
      run.say('Fine.');
      run.end();
    };
    const visitor = await enter();
    await visitor.launcher.click();
    await visitor.field.evaluate((field: HTMLTextAreaElement) => {
      for (const text of ['First', 'Second']) {
        field.value = text;
        field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
      }
    });
    expect(await visitor.field.inputValue()).toBe('Second');
    resolve();
    await shows(visitor, 'Fine.');
    await visitor.say('Second');
    await until(() => chat.received.length === 2);
    expect(chat.received.map(({ body }) => body.message)).toEqual(['First', 'Second']);
  });

  it('continues exactly where the connection broke', async () => {
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    chat.script = async (run) => {
      run.say('One, ');
      run.say('two, ');
      await goOn;
      run.say('three.');
      run.end();
    };
    const visitor = await enter();
    await visitor.say('Count');
    await shows(visitor, /^One, two,/);
    const run = chat.lastRun;
    run.drop();
    await visitor.chat.locator('.status', { hasText: 'Reconnecting' }).waitFor();
    await until(() => run.readers.size === 1);
    resolve();
    await shows(visitor, /^One, two, three\.$/);
    expect(runs()).toEqual([1]);
    expect(chat.received.map(({ path }) => path)).toEqual(['/sse/chat']);
  });
});

describe.skipIf(withoutBrowser)('when event streams do not work', () => {
  it('the widget requests every answer in one piece if the service has no event streams', async () => {
    chat.refuse = ({ url }) => (url === '/sse/chat' ? problem(404, 'not_found') : null);
    const visitor = await enter();
    await visitor.say('Hello');
    await shows(visitor, 'Fine.');
    await visitor.say('Hello again');
    await shows(visitor, 'Fine.');
    await until(() => chat.received.length === 2);
    expect(chat.received.map(({ path }) => path)).toEqual(['/webchat/message', '/webchat/message']);
  });

  it('the widget requests the answer in one piece if the stream cannot be opened, and the message is run only once', async () => {
    chat.refuse = ({ url }) => (url?.startsWith('/sse/stream/') ? { status: 502 } : null);
    const visitor = await enter();
    await visitor.say('Hello');
    await shows(visitor, 'Fine.');
    expect(chat.received.map(({ path }) => path)).toEqual(['/sse/chat', '/webchat/message']);
    expect(runs()).toEqual([1]);
  });

  it('the widget requests the answer of the same run in one piece if it cannot resume the broken stream', async () => {
    let streams = 0;
    chat.refuse = ({ url }) => {
      if (!url?.startsWith('/sse/stream/')) return null;
      return streams++ === 0 ? null : { status: 502 };
    };
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    chat.script = async (run) => {
      run.say('Half');
      await goOn;
      run.say(' and whole.');
      run.end();
    };
    const visitor = await enter({ clock: true });
    await visitor.say('Hello');
    await shows(visitor, 'Half');
    chat.lastRun.drop();
    await until(async () => {
      if (chat.received.length > 1) return true;
      await visitor.page.clock.fastForward(1000);
      return false;
    });
    resolve();
    await visitor.answer.filter({ hasText: /^Half and whole\.$/ }).waitFor();
    expect(runs()).toEqual([1]);
    expect(new Set(chat.received.map(({ key }) => key)).size).toBe(1);
    expect(chat.received.slice(1).every(({ path }) => path === '/webchat/message')).toBe(true);
  });
});

describe.skipIf(withoutBrowser)('a failure', () => {
  it('is explained in words, and a retry is sent as a new message', async () => {
    chat.script = (run) => run.fail('agent_failed');
    const visitor = await enter();
    await visitor.say('Hello');
    await visitor.trouble.getByText('Something went wrong on our side').waitFor();
    // A page load does not send the message again.
    await visitor.page.reload();
    await visitor.trouble.getByRole('button', { name: 'Try again' }).waitFor();
    expect(chat.received).toHaveLength(1);
    chat.script = (run) => {
      run.say('Now.');
      run.end();
    };
    await visitor.trouble.getByRole('button', { name: 'Try again' }).click();
    await shows(visitor, 'Now.');
    expect(
      await visitor.field.evaluate((field) => (field.getRootNode() as ShadowRoot).activeElement === field),
    ).toBe(true);
    expect(await visitor.trouble.isVisible()).toBe(false);
    expect(new Set(chat.received.map(({ key }) => key)).size).toBe(2);
    expect(await visitor.chat.locator('.visitor').count()).toBe(1);
  });

  it('caused by the rate limit shows how long to wait, and blocks a retry until then', async () => {
    chat.refuse = ({ method }) =>
      method === 'POST' ? problem(429, 'rate_limited', { 'Retry-After': '60' }) : null;
    const visitor = await enter({ clock: true });
    await visitor.say('Hello');
    await visitor.trouble.getByText('too many messages').waitFor();
    const button = visitor.trouble.getByRole('button');
    await until(async () => /^Try again in \d+ s$/.test((await button.textContent()) ?? ''));
    expect(await button.getAttribute('aria-disabled')).toBe('true');
    await button.dispatchEvent('click');
    chat.refuse = () => null;
    await visitor.page.clock.fastForward(60_000);
    await visitor.trouble.getByRole('button', { name: /^Try again$/ }).click();
    await shows(visitor, 'Fine.');
    expect(chat.received).toHaveLength(1);
  });

  it('caused by the loop guard is explained in words', async () => {
    const visitor = await enter();
    for (const [reason, words, name] of [
      ['repetition', 'the same message too many times', 'Try again'],
      ['turn_limit', 'conversation is too long', 'New conversation'],
      ['rate_limit', 'too many messages', 'Try again'],
    ] as const) {
      chat.refuse = ({ method }) =>
        method === 'POST' ? problem(429, 'loop_guard_blocked', {}, { reason }) : null;
      await visitor.say('Hello');
      await visitor.trouble.getByText(words).waitFor();
      await visitor.trouble.getByRole('button', { name }).waitFor();
    }
  });

  it('caused by the network does not lose the message: it is sent once when the browser is online again', async () => {
    const visitor = await enter();
    await visitor.page.context().setOffline(true);
    await visitor.say('Hello');
    await visitor.trouble.getByText('You are offline. Your message').waitFor();
    await visitor.chat.getByText('You are offline', { exact: true }).first().waitFor();
    await visitor.page.context().setOffline(false);
    await shows(visitor, 'Fine.');
    expect(runs()).toEqual([1]);
    expect(await visitor.trouble.isVisible()).toBe(false);
  });
});

describe.skipIf(withoutBrowser)('page loads and tabs', () => {
  it('a conversation continues across page loads, even in the middle of an answer', async () => {
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    chat.script = async (run) => {
      run.say('Before, ');
      await goOn;
      run.say('after.');
      run.end();
    };
    const visitor = await enter();
    await visitor.say('Hello');
    await shows(visitor, 'Before,');
    await visitor.page.goto(`${chat.url}/elsewhere`);
    await shows(visitor, 'Before,');
    resolve();
    await shows(visitor, /^Before, after\.$/);
    expect(await visitor.chat.locator('.visitor .body').allTextContents()).toEqual(['Hello']);
    expect(runs()).toEqual([1]);
    expect(chat.received).toHaveLength(1);
  });

  it('without history, a duplicated tab has its own conversation', async () => {
    chat.page.attributes = { 'data-history': 'off' };
    const visitor = await enter();
    await visitor.say('In the first');
    await shows(visitor, 'Fine.');
    // A window that a page opens gets a copy of the page's session storage, as a duplicated tab does.
    const [copy] = await Promise.all([
      browser.context.waitForEvent('page'),
      visitor.page.evaluate(() => void window.open('/', '_blank')),
    ]);
    const second = follow(copy);
    await copy.locator('agentd-webchat').waitFor({ state: 'attached' });
    await second.say('In the second');
    await shows(second, 'Fine.');
    const [one, two] = chat.received;
    expect(two?.body.user_id).not.toBe(one?.body.user_id);
    expect(two?.body.session_id).toBeNull();
    expect(await second.chat.getByText('In the first').count()).toBe(0);
    // The first tab has kept its own conversation.
    await visitor.page.reload();
    await visitor.chat.getByText('In the first').waitFor();
  });

  it('without history, a tab that the browser restored after a crash continues its conversation', async () => {
    chat.page.attributes = { 'data-history': 'off' };
    const visitor = await enter();
    await visitor.say('Before the crash');
    await shows(visitor, 'Fine.');
    // A page that crashes leaves its name in the storage.
    await visitor.page.addInitScript(() => {
      const key = Object.keys(sessionStorage).find((name) => name.endsWith(' open'));
      if (key !== undefined) sessionStorage.setItem(key.replace(/open$/, 'page'), 'a page that is gone');
    });
    await visitor.page.reload();
    await visitor.chat.getByText('Before the crash').waitFor();
    await visitor.say('After it');
    await until(() => chat.received.length === 2);
    const [before, after] = chat.received;
    expect(after?.body.user_id).toBe(before?.body.user_id);
  });

  it('tabs take turns to start a stream, so that no stream is opened with the cookie of another tab', async () => {
    chat.page.attributes = { 'data-history': 'off' };
    const order: string[] = [];
    chat.refuse = (request) => {
      if (request.url === '/sse/chat') order.push('start');
      if (request.url?.startsWith('/sse/stream/')) order.push('open');
      return null;
    };
    const [gate, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    chat.gate = gate.promise;
    chat.script = async (run) => {
      run.say('Half');
      await goOn.promise;
      run.say(' and half');
      run.end();
    };
    const visitors = await Promise.all([enter(), enter()]);
    for (const visitor of visitors) await visitor.launcher.click();
    await Promise.all(visitors.map((visitor) => visitor.say('Hello')));
    const [{ page }] = visitors;
    await until(async () => (await page.evaluate(() => navigator.locks.query())).pending?.length === 1);
    expect(order).toEqual(['start']);
    gate.resolve();
    // The turn ends when the stream has begun, not with the answer.
    await Promise.all(visitors.map((visitor) => shows(visitor, 'Half')));
    expect(order).toEqual(['start', 'open', 'start', 'open']);
    goOn.resolve();
    await Promise.all(visitors.map((visitor) => shows(visitor, 'Half and half')));
  });
});
