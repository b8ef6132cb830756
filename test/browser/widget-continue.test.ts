import { describe, expect, it } from 'vitest';
import { CONTINUE_ENGLISH } from '../../plugins/webchat/widget/continue/texts.ts';
import { until } from '../support/until.ts';
import { withoutBrowser } from './browser.ts';
import { faults } from './faults.ts';
import { picture } from './pictures.ts';
import { tokenFor } from './site-token.ts';
import { openRoom, visit } from './visitor.ts';

const { chat, browser } = openRoom();

const TITLES = { teamchat: 'Slack', msgbot: 'Telegram' };
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
      return { status: 200, body: { links: fake.links, channels: ['teamchat', 'msgbot'], titles: TITLES } };
    if (method === 'DELETE') {
      fake.links = [];
      return { status: 204 };
    }
    if (url !== '/link/codes') return { status: 200, body: code };
    const channels = { teamchat: {}, msgbot: { url: URL_OF_CODE }, other: { url: 'javascript:alert(1)' } };
    const expires_at = new Date(Date.now() + 600_000).toISOString();
    return { status: 201, body: { id: 'c1', code: 'ABCDE23456', expires_at, channels } };
  };
  return fake;
}

describe.skipIf(withoutBrowser)('continuing on a chat platform', () => {
  it('stays within a chat that is a part of the page', async () => {
    chat.page.attributes = { 'data-token-url': '/token' };
    chat.page.script =
      "addEventListener('DOMContentLoaded', () => document.querySelector('main').append(document.createElement('agentd-chat')));";
    chat.page.style = 'agentd-chat { display: block; width: 500px; height: 420px }';
    chat.token = tokenFor('ada');
    answerCodes();
    const visitor = await visit(browser.context, chat.url);
    await visitor.chat.getByRole('button', { name: 'Continue on Slack or Telegram' }).click();
    const sheet = visitor.chat.getByRole('region', { name: 'Continue on Slack or Telegram' });
    const [inner, outer] = [await sheet.boundingBox(), await visitor.chat.boundingBox()];
    if (inner === null || outer === null) throw new Error('the sheet or the chat is not shown');
    expect([inner.x, inner.width]).toEqual([outer.x + 1, outer.width - 2]);
    expect(inner.y + inner.height).toBe(outer.y + outer.height - 1);
  });

  it('is offered to a signed-in person, who sees who has claimed the code before they confirm', async () => {
    chat.page.attributes = { 'data-token-url': '/token' };
    const ada = tokenFor('ada');
    chat.token = ada;
    const fake = answerCodes();
    const visitor = await visit(browser.context, chat.url);
    await visitor.launcher.click();
    expect(
      await visitor.page.evaluate(
        () => performance.getEntriesByName(`${location.origin}/webchat/qr.js`).length,
      ),
    ).toBe(0);
    const offer = visitor.chat.getByRole('button', { name: 'Continue on Slack or Telegram' });
    await offer.click();
    const sheet = visitor.chat.getByRole('region', { name: 'Continue on Slack or Telegram' });
    // The chat below the sheet cannot be reached, and Escape closes only the sheet.
    expect(await visitor.field.evaluate((field) => field.closest('[inert]') !== null)).toBe(true);
    await picture(visitor.page, 'continue');
    expect(await faults(visitor.page)).toEqual([]);
    await visitor.page.keyboard.press('Escape');
    await sheet.waitFor({ state: 'detached' });
    expect(await visitor.chat.isVisible()).toBe(true);
    expect(await visitor.field.evaluate((field) => field.closest('[inert]') !== null)).toBe(false);
    await visitor.page.keyboard.press('Enter');
    await visitor.chat.getByRole('button', { name: 'Get a code' }).click();
    await visitor.chat.getByText('ABCDE23456').waitFor();
    const link = visitor.chat.getByRole('link', { name: /Open Telegram/ });
    expect(await link.getAttribute('href')).toBe(URL_OF_CODE);
    // Only https leads to another chat.
    expect(await visitor.chat.getByRole('link', { name: /Open other/ }).count()).toBe(0);
    expect(
      await link.getByRole('img', { name: 'QR code that opens Telegram with the code' }).isVisible(),
    ).toBe(true);
    await picture(visitor.page, 'continue-code');
    expect(await faults(visitor.page)).toEqual([]);
    expect(await visitor.chat.getByRole('button', { name: 'Yes, connect it' }).count()).toBe(0);
    await visitor.chat.getByText(/^Waiting for your message… The code is valid until \d/).waitFor();
    fake.state = 'claimed';
    await visitor.chat.getByText('Telegram <b>Ada</b>, …0111').waitFor();
    await picture(visitor.page, 'continue-claimed');
    expect(await faults(visitor.page)).toEqual([]);
    expect(fake.calls.some((call) => call.endsWith('/confirm'))).toBe(false);
    await visitor.chat.getByRole('button', { name: 'Yes, connect it' }).click();
    await until(() => fake.calls.includes('POST /link/codes/c1/confirm'));
    fake.state = 'used';
    fake.links = [{ id: 'l1', channel: 'msgbot', masked_id: '…0111', name: 'Ada' }];
    await visitor.chat.getByText('Your chat is connected.').waitFor();
    await visitor.chat.getByText('Connected chats').waitFor();
    await visitor.chat.getByRole('button', { name: 'Connect another chat' }).waitFor();
    await picture(visitor.page, 'continue-connected');
    expect(await faults(visitor.page)).toEqual([]);
    await visitor.chat.getByRole('button', { name: 'Disconnect' }).click();
    await until(() => fake.calls.includes('DELETE /links/l1'));
    await visitor.chat.getByRole('button', { name: 'Disconnect' }).waitFor({ state: 'detached' });
    chat.token = null;
    await visitor.page.evaluate(() => window.agentdWebchat?.identityChanged?.());
    await offer.waitFor({ state: 'detached' });
    expect(await visitor.field.evaluate((field) => field.closest('[inert]') !== null)).toBe(false);
    expect([...fake.tokens]).toEqual([`Bearer ${ada}`]);
    expect(visitor.complaints).toEqual([]);
  });

  it('connects no chat with the token of somebody who has signed in meanwhile', async () => {
    chat.page.attributes = { 'data-token-url': '/token' };
    // The site is asked again before each request, because the token expires soon.
    const ada = tokenFor('ada', { seconds: 120 });
    chat.token = ada;
    const fake = answerCodes();
    const visitor = await visit(browser.context, chat.url);
    await visitor.launcher.click();
    await visitor.chat.getByRole('button', { name: 'Continue on Slack or Telegram' }).click();
    chat.token = tokenFor('bob');
    await visitor.chat.getByRole('button', { name: 'Get a code' }).click();
    await visitor.chat.getByText(CONTINUE_ENGLISH.failed).waitFor();
    expect([...fake.tokens]).toEqual([`Bearer ${ada}`]);
  });

  it('has no accessibility problems in dark colors on a page that is rtl', async () => {
    Object.assign(chat.page, {
      attributes: { 'data-token-url': '/token', 'data-theme': 'dark' },
      html: { dir: 'rtl', lang: 'ar' },
    });
    chat.token = tokenFor('ada');
    const fake = answerCodes();
    const visitor = await visit(browser.context, chat.url);
    await visitor.launcher.click();
    await visitor.chat.getByRole('button', { name: /^Continue on/ }).click();
    await visitor.chat.getByRole('button', { name: 'Get a code' }).click();
    await visitor.chat.getByText('ABCDE23456').waitFor();
    await picture(visitor.page, 'continue-dark-rtl');
    expect(await faults(visitor.page)).toEqual([]);
    fake.state = 'claimed';
    await visitor.chat.getByText('Is this your chat?').waitFor();
    fake.links = [{ id: 'l1', channel: 'msgbot', masked_id: '…0111', name: 'Ada' }];
    fake.state = 'used';
    await visitor.chat.getByText('Connected chats').waitFor();
    await picture(visitor.page, 'continue-dark-rtl-connected');
    expect(await faults(visitor.page)).toEqual([]);
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
      expect(await visitor.chat.getByRole('button', { name: /^Continue on/ }).count()).toBe(0);
      await visitor.page.close();
    }
    expect(fake.calls).toEqual([]);
  });
});
