import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { withoutBrowser } from './browser.ts';
import { tokenFor } from './site-token.ts';
import { follow, openRoom, type Visitor, visit } from './visitor.ts';

/* The rules are in agentd-webchat(7), "What is kept in the browser". */

const { chat, browser } = openRoom({}, (chat) => {
  chat.page.attributes = { 'data-token-url': '/token' };
});

const enter = () => visit(browser.context, chat.url);
const shows = (visitor: Visitor, text: string | RegExp) => visitor.answer.filter({ hasText: text }).waitFor();
const stored = ({ page }: Visitor) =>
  page.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]));

describe.skipIf(withoutBrowser)('a conversation', () => {
  it('continues in a new tab after the first tab was closed, and the token is not stored', async () => {
    chat.token = tokenFor('ada');
    const first = await enter();
    await first.say('Hello');
    await shows(first, 'Fine.');
    const { session_id } = chat.lastRun;
    const second = await enter();
    await first.page.close();
    await second.launcher.click();
    await shows(second, 'Fine.');
    await second.say('And now?');
    await expect.poll(() => chat.received.length).toBe(2);
    expect(chat.received[1]?.body).toMatchObject({ session_id });
    expect(await stored(second)).toContain('Hello');
    expect(await stored(second)).not.toContain(chat.token);
  });

  it('is shown live in two tabs, and is answered once', async () => {
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    const first = await enter();
    const second = await enter();
    await first.say('Hello');
    await shows(first, 'Fine.');
    await second.launcher.click();
    await shows(second, 'Fine.');
    chat.script = async (run) => {
      run.say('Half');
      await goOn;
      run.say(' and half');
      run.end();
    };
    await first.say('Again');
    await shows(second, 'Half');
    resolve();
    await Promise.all([shows(first, 'Half and half'), shows(second, 'Half and half')]);
    expect(chat.received.map(({ key, body }) => `${key} ${String(body.message)}`)).toHaveLength(2);
    chat.script = (run) => {
      run.say('Third.');
      run.end();
    };
    await second.say('And from here');
    await shows(first, 'Third.');
    expect(new Set([...chat.runs.values()].map((run) => run.session_id)).size).toBe(1);
  });

  it('is shown live also in a tab that learns late who is signed in', async () => {
    chat.token = tokenFor('ada');
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    chat.script = async (run) => {
      run.say('Half');
      await goOn;
      run.say(' and half');
      run.end();
    };
    const first = await enter();
    const second = await enter();
    const { promise: known, resolve: tell } = Promise.withResolvers<void>();
    await second.page.route('**/token', async (route) => {
      await known;
      await route.continue();
    });
    await first.say('Hello');
    await shows(first, 'Half');
    await second.launcher.click();
    tell();
    await shows(second, 'Half');
    resolve();
    await shows(second, 'Half and half');
    expect(await second.chat.locator('.visitor .body').allTextContents()).toEqual(['Hello']);
  });

  it('is deleted when the person signs out, in all tabs, and is never shown to another person', async () => {
    chat.token = tokenFor('ada');
    const first = await enter();
    const second = await enter();
    await first.say('The secret of Ada');
    await shows(first, 'Fine.');
    await second.launcher.click();
    await second.chat.getByText('The secret of Ada').waitFor();
    chat.token = tokenFor('grace');
    await first.page.evaluate(() => window.agentdWebchat?.identityChanged?.());
    await first.chat.getByText('Somebody else has signed in').first().waitFor();
    await expect.poll(() => second.chat.getByText('The secret of Ada').count()).toBe(0);
    expect(await stored(first)).not.toContain('The secret of Ada');
  });

  it('is deleted also in a tab that still receives an answer', async () => {
    chat.token = tokenFor('ada');
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    chat.script = async (run) => {
      run.say('Half');
      await goOn;
      run.end();
    };
    const first = await enter();
    const second = await enter();
    await first.say('The secret of Ada');
    await second.launcher.click();
    await shows(second, 'Half');
    chat.token = tokenFor('grace');
    await first.page.evaluate(() => window.agentdWebchat?.identityChanged?.());
    await first.chat.getByText('Somebody else has signed in').first().waitFor();
    await second.chat.getByText('Somebody else has signed in').first().waitFor();
    resolve();
    expect(await second.chat.getByText('The secret of Ada').count()).toBe(0);
    expect(await stored(second)).not.toContain('The secret of Ada');
  });

  it('of a person who has signed out elsewhere is deleted at the next page load', async () => {
    chat.token = tokenFor('ada');
    const first = await enter();
    await first.say('The secret of Ada');
    await shows(first, 'Fine.');
    await first.page.close();
    chat.token = null;
    const second = await enter();
    await second.launcher.click();
    expect(await second.chat.getByText('The secret of Ada').count()).toBe(0);
    expect(await stored(second)).not.toContain('The secret of Ada');
  });

  it('of a visitor who is not signed in is not taken over by a person who signs in in another tab', async () => {
    const first = await enter();
    await first.say('Anonymous words');
    await shows(first, 'Fine.');
    await first.page.close();
    chat.token = tokenFor('ada');
    const second = await enter();
    await second.launcher.click();
    expect(await second.chat.getByText('Anonymous words').count()).toBe(0);
    await second.say('Hello');
    await shows(second, 'Fine.');
    expect(chat.received[1]?.body.session_id).toBeNull();
  });
});

describe.skipIf(withoutBrowser)('the element agentd-chat', () => {
  it('has the chat as a part of the page, without a button and without taking the focus', async () => {
    chat.page.script =
      "addEventListener('DOMContentLoaded', () => { const chat = document.createElement('agentd-chat'); chat.id = 'place'; document.querySelector('main').append(chat); });";
    chat.page.style = '#place { width: 500px; height: 420px }';
    const visitor = await enter();
    await visitor.chat.waitFor();
    expect(await visitor.chat.boundingBox()).toMatchObject({ width: 500, height: 420 });
    expect(await visitor.launcher.isVisible()).toBe(false);
    expect(await visitor.chat.getByRole('button', { name: 'Close chat' }).isVisible()).toBe(false);
    expect(await visitor.page.evaluate(() => document.activeElement === document.body)).toBe(true);
    await visitor.say('Hello');
    await shows(visitor, 'Fine.');
    await visitor.page.keyboard.press('Escape');
    expect(await visitor.chat.isVisible()).toBe(true);
    await visitor.page.setViewportSize({ width: 390, height: 700 });
    expect(await visitor.page.evaluate(() => document.querySelector('#place dialog:modal'))).toBeNull();
    expect(visitor.complaints).toEqual([]);
  });
});

describe.skipIf(withoutBrowser)('the package entry agentd/widget', () => {
  it('says which script cannot be loaded, and then loads the widget with the options of the page, once', async () => {
    const ada = tokenFor('ada');
    const page = await browser.context.newPage();
    const entry = fileURLToPath(import.meta.resolve('agentd/widget'));
    await page.route(`${chat.url}/entry.js`, (route) => route.fulfill({ path: entry }));
    await page.route(`${chat.url}/nowhere/**`, (route) => route.abort());
    const visitor = follow(page);
    await page.route(`${chat.url}/shop`, (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: '<!doctype html><h1>A shop</h1><div id="place"></div>',
      }),
    );
    await page.goto(`${chat.url}/shop`);
    const failure = await page.evaluate(async (token) => {
      const { loadWidget } = await import(new URL('/entry.js', location.href).href);
      const failed = await loadWidget(`${location.origin}/nowhere`).catch(String);
      const options = { title: 'Shop help', token: () => token };
      const [controls, again] = await Promise.all([
        loadWidget(`${location.origin}/`, options),
        loadWidget(location.origin),
      ]);
      if (controls !== again) throw new Error('there are two');
      controls.place(document.querySelector('#place'));
      return failed;
    }, ada);
    expect(failure).toBe(`Error: ${chat.url}/nowhere/webchat/widget.js cannot be loaded`);
    await visitor.chat.getByRole('heading', { name: 'Shop help' }).waitFor();
    await visitor.say('Hello');
    await shows(visitor, 'Fine.');
    expect(chat.lastRun.body).toMatchObject({ jwt_token: ada });
    await page.close();
  });
});
