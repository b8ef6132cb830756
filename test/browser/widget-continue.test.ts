import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { type Browser, launch, withoutBrowser } from './browser.ts';
import { FakeChat } from './fake-chat.ts';
import { tokenFor } from './site-token.ts';
import { visit } from './visitor.ts';

let chat: FakeChat;
let browser: Browser;

beforeAll(async () => {
  if (withoutBrowser) return;
  chat = await FakeChat.start();
  browser = await launch();
});
beforeEach(() => chat?.reset());
afterEach(() => browser?.leave());
afterAll(async () => {
  await browser?.close();
  await chat?.stop();
});

const URL_OF_CODE = 'https://t.me/shop_bot?start=ABCDE23456';

/** Answers the routes of link codes, and records the calls. */
function answerCodes(): { calls: string[]; state: string; links: object[]; tokens: Set<string> } {
  const fake = { calls: [] as string[], state: 'waiting', links: [] as object[], tokens: new Set<string>() };
  chat.refuse = ({ method, url = '', headers }) => {
    if (!url.startsWith('/link')) return null;
    fake.calls.push(`${method} ${url}`);
    fake.tokens.add(String(headers.authorization));
    const claimant = { channel: 'msgbot', masked_id: '…0111', name: '<b>Ada</b>' };
    const code = { id: 'c1', state: fake.state, ...(fake.state === 'waiting' ? {} : claimant) };
    if (url === '/links')
      return { status: 200, body: { links: fake.links, channels: ['teamchat', 'msgbot'] } };
    if (method === 'DELETE') {
      fake.links = [];
      return { status: 204 };
    }
    if (url !== '/link/codes') return { status: 200, body: code };
    const channels = { teamchat: {}, msgbot: { url: URL_OF_CODE } };
    return { status: 201, body: { id: 'c1', code: 'ABCDE23456', channels } };
  };
  return fake;
}

describe.skipIf(withoutBrowser)('continuing on a chat platform', () => {
  it('is offered to a signed-in person, who sees who has claimed the code before they confirm', async () => {
    chat.page.attributes = { 'data-token-url': '/token' };
    const ada = tokenFor('ada');
    chat.token = ada;
    const fake = answerCodes();
    const visitor = await visit(browser.context, chat.url);
    await visitor.launcher.click();
    await visitor.chat.getByText('Continue on Slack, Telegram').click();
    await visitor.chat.getByRole('button', { name: 'Get a code' }).click();
    await visitor.chat.getByText('ABCDE23456').waitFor();
    const link = visitor.chat.getByRole('link', { name: /Open Telegram/ });
    expect(await link.getAttribute('href')).toBe(URL_OF_CODE);
    expect(
      await link.getByRole('img', { name: 'QR code that opens Telegram with the code' }).isVisible(),
    ).toBe(true);
    expect(await visitor.chat.getByRole('button', { name: 'Yes, connect it' }).count()).toBe(0);
    fake.state = 'claimed';
    await visitor.chat.getByText('Telegram: <b>Ada</b>, …0111').waitFor();
    expect(fake.calls.some((call) => call.endsWith('/confirm'))).toBe(false);
    await visitor.chat.getByRole('button', { name: 'Yes, connect it' }).click();
    await until(() => fake.calls.includes('POST /link/codes/c1/confirm'));
    fake.state = 'used';
    fake.links = [{ id: 'l1', channel: 'msgbot', masked_id: '…0111', name: 'Ada' }];
    await visitor.chat.getByText('Your chat is connected.').waitFor();
    await visitor.chat.getByRole('button', { name: 'Disconnect' }).click();
    await until(() => fake.calls.includes('DELETE /links/l1'));
    await visitor.chat.getByRole('button', { name: 'Disconnect' }).waitFor({ state: 'detached' });
    chat.token = null;
    await visitor.page.evaluate(() => window.agentdWebchat?.identityChanged?.());
    await visitor.chat.getByText('Continue on').waitFor({ state: 'detached' });
    expect([...fake.tokens]).toEqual([`Bearer ${ada}`]);
    expect(visitor.complaints).toEqual([]);
  });

  it('is offered to nobody else, and not with data-continue="off"', async () => {
    const fake = answerCodes();
    for (const [token, attributes] of [
      [null, { 'data-token-url': '/token' }],
      [tokenFor('ada'), { 'data-token-url': '/token', 'data-continue': 'off' }],
    ] as const) {
      chat.page.attributes = attributes;
      chat.token = token;
      const visitor = await visit(browser.context, chat.url);
      await visitor.say('Hello');
      await visitor.answer.filter({ hasText: 'Fine.' }).waitFor();
      expect(await visitor.chat.getByText('Continue on').count()).toBe(0);
      await visitor.page.close();
    }
    expect(fake.calls).toEqual([]);
  });
});
