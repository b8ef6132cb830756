import { beforeAll, describe, expect, it } from 'vitest';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { effort } from '../support/effort.ts';
import { type Browser, launch, withoutBrowser } from './browser.ts';
import { faults } from './faults.ts';
import { picture } from './pictures.ts';
import { coveredBy, tightness } from './room.ts';
import { follow } from './visitor.ts';

let daemon: Agentd;
let browser: Browser;

beforeAll(async () => {
  if (withoutBrowser) return;
  const env = {
    WEBCHAT_ENABLED: '',
    JWT_SECRET_KEY: '',
    JWT_ALGORITHM: '',
    STATE_DIR: '',
    WEBCHAT_PAGE: 'true',
  };
  daemon = await startAgentd({ args: ['--dev'], env });
  browser = await launch();
});

describe.skipIf(withoutBrowser)('a visitor to the demo page', () => {
  it('starts as Ada, asks before it acts, shows whose credentials it used, and can start over', async () => {
    const page = await browser.context.newPage();
    await page.setViewportSize({ width: 1280, height: 800 });
    const visitor = follow(page);
    await page.goto(`${daemon.url}/demo`);
    await visitor.chat.getByRole('button', { name: 'Cancel order 1004' }).waitFor();
    await picture(page, 'demo-start');
    await visitor.chat.getByRole('button', { name: 'What are my orders?' }).click();
    await visitor.answer.filter({ hasText: 'being packed' }).waitFor();
    expect(await visitor.chat.locator('.tool').allTextContents()).toEqual(['My orders']);
    expect(await visitor.chat.locator('.meta').last().textContent()).toBe('As Ada Lovelace');
    await visitor.say('Cancel order 1004');
    const card = visitor.chat.locator('.card:not([hidden])');
    await card.getByRole('button').first().waitFor();
    const requests = page.locator('.requests tbody tr');
    await requests.filter({ hasText: 'GET /orders' }).waitFor();
    await picture(page, 'demo-asks');
    expect(await visitor.chat.getByText('yes or no').count()).toBe(0);
    expect(await requests.filter({ hasText: '/cancel' }).count()).toBe(0);
    await card.getByRole('button').first().click();
    await card.locator('.outcome.done').waitFor();
    const canceled = requests.filter({ hasText: '/cancel' }).filter({ hasText: 'Ada Lovelace' });
    await canceled.waitFor();
    await page.locator('.actions tbody tr').filter({ hasText: 'done' }).waitFor();
    await picture(page, 'demo-done');
    // Nobody needs to scroll to see whose credentials were used.
    const row = await canceled.boundingBox();
    expect((row?.y ?? 0) + (row?.height ?? 0)).toBeLessThan(800);
    expect(await coveredBy(page, visitor.chat)).toEqual([]);
    expect(await tightness(page)).toMatchObject({ page: 0, table: 0 });
    await page.getByRole('button', { name: 'Start over' }).click();
    await visitor.chat.getByRole('button', { name: 'What are my orders?' }).click();
    await visitor.answer.filter({ hasText: 'being packed' }).waitFor();
    expect(await requests.filter({ hasText: '/cancel' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Nobody' }).click();
    await visitor.say('What are my orders?');
    await visitor.chat.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('.people [aria-pressed=true]').filter({ hasText: 'Ada' }).waitFor();
    expect(visitor.complaints).toEqual([]);
    await page.close();
  });

  it('has the chat as a page of its own, under the same policy', async () => {
    const page = await browser.context.newPage();
    await page.setViewportSize({ width: 390, height: 700 });
    const visitor = follow(page);
    const response = await page.goto(`${daemon.url}/chat`);
    expect(response?.headers()['content-security-policy']).toContain("default-src 'none'");
    await visitor.chat.waitFor();
    // The border of the chat is outside the screen.
    expect(await visitor.chat.boundingBox()).toEqual({ x: -1, y: -1, width: 392, height: 702 });
    await visitor.say('Which products do you have?');
    await visitor.answer.filter({ hasText: 'Analytical engine' }).waitFor();
    await picture(page, 'chat-390');
    expect(await faults(page, 'html')).toEqual([]);
    expect(visitor.complaints).toEqual([]);
    await page.close();
  });

  const widths = [
    [390, 844],
    [1440, 900],
    [600, 900],
    [768, 1024],
    [1024, 768],
  ] as const;
  it.each(widths.slice(0, effort(1, widths.length)))(
    'can read everything at %i px: nothing is cut off or covered',
    async (width, height) => {
      const page = await browser.context.newPage();
      await page.setViewportSize({ width, height });
      const visitor = follow(page);
      await page.goto(`${daemon.url}/demo`);
      await page.getByRole('button', { name: 'Grace Hopper' }).click();
      // A message that is sent before the chat knows the new person is lost with the conversation of the previous one.
      await page.locator('.cancel').filter({ hasText: '1005' }).waitFor();
      await visitor.say(`Who am I at ${width} pixels?`);
      await visitor.answer.filter({ hasText: 'Compiler, first edition' }).waitFor();
      const row = page.locator('.requests tbody tr').first();
      await row.filter({ hasText: 'Grace Hopper' }).waitFor();
      for (const colorScheme of ['dark', 'light'] as const) {
        await page.emulateMedia({ colorScheme });
        await picture(page, `demo-${width}-${colorScheme}`);
      }
      expect((await tightness(page)).lines).toBeLessThanOrEqual(3);
      // Up to a width of 512 px, the chat covers the page, as on a phone. Up to 704 px, it covers only the empty space
      // below the page's content. On a wider screen, it is beside the page.
      if (width >= 704) expect(await coveredBy(page, visitor.chat)).toEqual([]);
      else if (width > 512) {
        const top = (await visitor.chat.boundingBox())?.y ?? 0;
        await expect
          .poll(async () => {
            await page.mouse.wheel(0, 10_000);
            const table = await page.locator('.frame').last().boundingBox();
            return table && table.y + table.height;
          })
          .toBeLessThan(top);
      }
      await page.keyboard.press('Escape');
      // On a phone, the lists are the first thing below the people once there is something in them.
      if (width <= 512) {
        const bar = (await page.locator('footer').boundingBox())?.y ?? 0;
        for (const each of await page.locator('.requests tbody tr').all()) {
          const box = await each.boundingBox();
          expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThan(bar);
        }
      }
      expect(await coveredBy(page, visitor.launcher)).toEqual([]);
      expect(await tightness(page)).toMatchObject({ page: 0, table: 0 });
      await page.close();
    },
  );
});
