import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

/** Pictures of every state, for people to look at. `WIDGET_PICTURES=man` makes those of the README again. */
const PICTURES = process.env.WIDGET_PICTURES ?? join(tmpdir(), 'agentd-widget-pictures');

/** Run in the page: resolves when no animation is running, except endless ones. */
const MOVES_ENDED = `Promise.all(
  (document.querySelector('agentd-webchat')?.shadowRoot?.getAnimations() ?? [])
    .filter(({ effect }) => effect?.getTiming().iterations === 1)
    .map(({ finished }) => finished),
).then(() => undefined)`;

/** Takes a picture of a page, when nothing in the widget moves any longer. */
export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  await page.evaluate(MOVES_ENDED);
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}
