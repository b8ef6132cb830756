import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

/**
 * The folder for screenshots of every state, for people to look at. `WIDGET_PICTURES=man` updates `man/demo.png`, which
 * the README shows.
 */
const PICTURES = process.env.WIDGET_PICTURES ?? join(tmpdir(), 'agentd-widget-pictures');

const MOVES_ENDED = `Promise.all(
  (document.querySelector('agentd-webchat')?.shadowRoot?.getAnimations() ?? [])
    .filter(({ effect }) => effect?.getTiming().iterations === 1)
    .map(({ finished }) => finished),
).then(() => undefined)`;

/** Resolves when no animation of the widget is running, except endless ones. */
export async function still(page: Page): Promise<void> {
  await page.evaluate(MOVES_ENDED);
}

/** Takes a picture of a page as soon as nothing in the widget moves. */
export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  await still(page);
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}
