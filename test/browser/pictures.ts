import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

/**
 * The folder for screenshots of every state, for people to look at. Without it, none are taken. `npm run pictures` takes
 * only those of the README.
 */
const PICTURES = process.env.WIDGET_PICTURES;

const OF_THE_README = ['demo-done', 'demo-390-dark', 'card'];

// An animation that is cancelled does not move either.
const MOVES_ENDED = `Promise.allSettled(
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
  const isWanted = PICTURES !== 'man/pictures' || OF_THE_README.includes(name);
  if (PICTURES === undefined || !isWanted) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}
