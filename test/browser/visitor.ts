import type { BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { until } from '../support/until.ts';
import { type Browser, launch, withoutBrowser } from './browser.ts';
import { FakeChat } from './fake-chat.ts';

/** The fake service and the browser of a test file. */
export interface Room {
  chat: FakeChat;
  browser: Pick<Browser, 'context'>;
}

/**
 * Starts a fake service and a browser for the tests of a file, and ends them after it. Before each test, the service has
 * its defaults; after each test, all pages are closed, because an open page would send requests to the next test.
 * @param prepare what else the service needs before each test
 */
export function openRoom(
  options: Parameters<typeof launch>[0] = {},
  prepare: (chat: FakeChat) => void = () => undefined,
): Room {
  const chat = new FakeChat();
  let browser: Browser | undefined;
  beforeAll(async () => {
    if (withoutBrowser) return;
    await chat.start();
    browser = await launch(options);
  });
  beforeEach(() => {
    chat.reset();
    prepare(chat);
  });
  afterEach(() => browser?.leave());
  afterAll(() => chat.stop());
  return {
    chat,
    browser: {
      get context() {
        if (browser === undefined) throw new Error('the browser has not been started');
        return browser.context;
      },
    },
  };
}

/**
 * A visitor to a site with the widget. Elements are found by the names that a screen reader would use, if they have a
 * name.
 */
export interface Visitor {
  page: Page;
  launcher: Locator;
  chat: Locator;
  field: Locator;
  /** Text of the agent's latest entry. */
  answer: Locator;
  trouble: Locator;
  /** The state of the connection, as the header shows it. */
  status: Locator;
  /** The announcements that a screen reader would read out, line by line. */
  heard(): Promise<string[]>;
  say(text: string): Promise<void>;
  /** Page errors and violations of the content security policy. */
  complaints: string[];
}

/** Opens a page with the widget. With `clock`, the page has a fake clock, which the test can advance. */
export async function visit(context: BrowserContext, url: string, { clock = false } = {}): Promise<Visitor> {
  const page = await context.newPage();
  if (clock) await page.clock.install();
  const visitor = follow(page);
  await page.goto(url);
  await mounted(page);
  return visitor;
}

const mounted = (page: Page) => page.locator('agentd-webchat').waitFor({ state: 'attached' });

export function follow(page: Page): Visitor {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (/Content Security Policy|TrustedHTML|Unhandled/.test(message.text())) complaints.push(message.text());
  });
  const chat = page.getByRole('dialog');
  const field = chat.getByLabel('Your message');
  return {
    page,
    complaints,
    launcher: page.getByRole('button', { name: /^Open chat/ }),
    chat,
    field,
    answer: chat.locator('.agent').last().locator('.body'),
    trouble: chat.locator('.trouble'),
    status: chat.locator('.status'),
    heard: () => chat.getByRole('log').locator('p').allTextContents(),
    async say(text) {
      // The widget may reopen the chat after a page load. Until the widget is mounted, the chat looks closed.
      await mounted(page);
      if (!(await chat.isVisible())) await page.getByRole('button', { name: /^Open chat/ }).click();
      await field.fill(text);
      // While an answer is being written, Enter sends nothing and the text stays in the field. Press Enter until it is
      // sent.
      await until(async () => {
        await field.press('Enter');
        return (await field.inputValue()) === '';
      });
    },
  };
}
