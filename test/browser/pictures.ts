import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

/**
 * The folder for screenshots of every state, for people to look at. Without it, none are taken. `WIDGET_PICTURES=man`
 * updates `man/demo.png`, which the README shows.
 */
const PICTURES = process.env.WIDGET_PICTURES;

const MOVES_ENDED = `Promise.all(
  (document.querySelector('agentd-webchat')?.shadowRoot?.getAnimations() ?? [])
    .filter(({ effect }) => effect?.getTiming().iterations === 1)
    .map(({ finished }) => finished),
).then(() => undefined)`;

/** Resolves when no animation of the widget is running, except endless ones. */
export async function still(page: Page): Promise<void> {
  await page.evaluate(MOVES_ENDED);
}

/** Waits until nothing in the widget moves, and takes a picture of the page if there is a folder for it. */
export async function picture(page: Page, name: string): Promise<void> {
  await still(page);
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}
