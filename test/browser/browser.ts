import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';
import { BROWSERS } from '../support/browsers.ts';
import { closeAtEnd } from '../support/close-at-end.ts';

/**
 * The path of a Chromium on this machine, or null if there is none. Without one, the tests are skipped, or fail if
 * `CI=true`.
 */
export const browserPath = BROWSERS.map(find).find((path) => path !== null) ?? null;

export const withoutBrowser = browserPath === null && process.env.CI !== 'true';
if (withoutBrowser)
  console.warn(
    'no Chromium is installed: the widget is NOT tested (apt-get install chromium-headless-shell)',
  );

function find(program: string): string | null {
  if (spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0) return null;
  return execFileSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).trim();
}

export interface Browser {
  context: BrowserContext;
  /** Closes all pages except a new empty page, because the browser exits when its last page is closed. */
  leave(): Promise<void>;
}

type ContextOptions = NonNullable<Parameters<typeof chromium.launchPersistentContext>[1]>;

/**
 * Starts a browser with an empty profile, without prompts, and for a visitor who prefers reduced motion: each frame of
 * an animation needs CPU time. It is closed at the end.
 */
export async function launch(options: ContextOptions = {}): Promise<Browser> {
  const profile = mkdtempSync(join(tmpdir(), 'agentd-browser-'));
  const context = await chromium.launchPersistentContext(profile, {
    ...(browserPath === null ? {} : { executablePath: browserPath }),
    headless: true,
    viewport: { width: 1100, height: 760 },
    reducedMotion: 'reduce',
    args: [
      '--no-sandbox',
      '--disable-dev-shm-usage',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      '--no-default-browser-check',
      // Without a process for each page and without software rendering, the tests need a quarter less CPU time.
      '--renderer-process-limit=1',
      '--disable-software-rasterizer',
    ],
    ...options,
  });
  context.setDefaultTimeout(60_000);
  closeAtEnd(async () => {
    await context.close();
    await rm(profile, { recursive: true, force: true, maxRetries: 3 });
  });
  return {
    context,
    async leave() {
      const pages = context.pages();
      const empty = await context.newPage();
      const origins = new Set(pages.map((page) => URL.parse(page.url())?.origin));
      await Promise.all(pages.map((page) => page.close()));
      // The next visitor has a browser of their own.
      const session = await context.newCDPSession(empty);
      for (const origin of origins)
        if (origin?.startsWith('http'))
          await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'local_storage' });
      await session.detach();
    },
  };
}
