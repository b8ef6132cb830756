import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { effort } from '../support/effort.ts';
import { type Browser, launch, withoutBrowser } from './browser.ts';
import { picture } from './pictures.ts';
import { coveredBy, tightness } from './room.ts';
import { follow } from './visitor.ts';

let daemon: Agentd;
let browser: Browser;

beforeAll(async () => {
  if (withoutBrowser) return;
  const env = { WEBCHAT_ENABLED: '', JWT_SECRET_KEY: '', JWT_ALGORITHM: '', STATE_DIR: '' };
  daemon = await startAgentd({ args: ['--dev'], env });
  browser = await launch();
});
afterAll(async () => {
  await browser?.close();
  await daemon?.stop();
});

describe.skipIf(withoutBrowser)('a visitor to the demo page', () => {
  const widths = [
    [390, 844],
    [1440, 900],
    [600, 900],
    [768, 1024],
    [1024, 768],
  ] as const;
  it.each(widths.slice(0, effort(2, widths.length)))(
    'can read everything at %i px: nothing is cut off or covered',
    async (width, height) => {
      const page = await browser.context.newPage();
      await page.setViewportSize({ width, height });
      const visitor = follow(page);
      await page.goto(`${daemon.url}/demo`);
      await page.getByRole('button', { name: 'Grace Hopper' }).click();
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
      expect(await coveredBy(page, visitor.launcher)).toEqual([]);
      expect(await tightness(page)).toMatchObject({ page: 0, table: 0 });
      await page.close();
    },
  );
});
