import { createServer } from 'node:http';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Browser, launch, withoutBrowser } from '../browser/browser.ts';
import { type Visitor, visit } from '../browser/visitor.ts';
import { startAgentd } from '../support/daemon.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { Dictation } from '../support/dictation.ts';
import { isThorough } from '../support/effort.ts';
import { listenOnFreePort } from '../support/free-ports.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

/** A website on another origin than the daemon, with only the script tag that the manual shows. */
const site = createServer((_request, response) => {
  response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' });
  response.end(
    `<!doctype html><title>A shop</title><script async src="${daemon.url}/webchat/widget.js"></script>`,
  );
});

/** The directory of the daemon. It is kept when the daemon is killed. */
const directory = temporaryFolder('widget');

let origin: string;
let dictation: Dictation;
let daemon: DaemonHere;
let browser: Browser;

beforeAll(async () => {
  if (withoutBrowser) return;
  origin = `http://127.0.0.1:${await listenOnFreePort(site)}`;
  dictation = await Dictation.start();
  daemon = await startDaemonHere({ directory, env: settings() });
  browser = await launch();
});
afterEach(() => browser?.leave());
function settings(): Record<string, string> {
  return {
    ...dictation.env,
    SSE_ENABLED: 'true',
    WEBCHAT_ALLOWED_ORIGINS: origin,
    LOOP_GUARD_ENABLED: 'false',
  };
}

/** The settings of a daemon at the same address. */
const again = () => ({ ...settings(), PORT: new URL(daemon.url).port });

const shows = (visitor: Visitor, text: string | RegExp) =>
  visitor.answer.filter({ hasText: text }).waitFor({ timeout: 20_000 });

describe.skipIf(withoutBrowser)('the widget on another site', () => {
  it('shows an answer while it is written', async () => {
    dictation.say('stream', 'One. ');
    const visitor = await visit(browser.context, origin);
    await visitor.say('stream');
    await shows(visitor, /^One\.\s*$/);
    dictation.say('stream', 'Two.');
    dictation.end('stream');
    await shows(visitor, /^One\. Two\.$/);
    expect(dictation.runs.filter((text) => text === 'stream')).toHaveLength(1);
  });

  it('stops an answer, and keeps the text written so far', async () => {
    dictation.say('stop', 'So much ');
    const visitor = await visit(browser.context, origin);
    await visitor.say('stop');
    await shows(visitor, 'So much');
    const [stop] = await Promise.all([
      visitor.page.waitForResponse((response) => response.request().method() === 'DELETE'),
      visitor.chat.getByRole('button', { name: 'Stop the answer' }).click(),
    ]);
    expect(stop.status()).toBe(204);
    await visitor.chat.getByText('Stopped').waitFor();
    expect(await visitor.answer.textContent()).toMatch(/^So much\s*$/);
  });

  it('continues an answer after a page load, and marks it as interrupted if the daemon was killed', async () => {
    await daemon.stop();
    const killed = await startAgentd({ directory, env: again() });
    daemon = killed;
    dictation.say('killed', 'Half ');
    const visitor = await visit(browser.context, origin);
    await visitor.say('killed');
    await shows(visitor, 'Half');
    await visitor.page.reload();
    await shows(visitor, 'Half');
    await killed.stop('SIGKILL');
    daemon = await startDaemonHere({ directory, env: again(), isKept: true });
    await visitor.trouble.getByText('The answer was interrupted').waitFor({ timeout: 20_000 });
    await shows(visitor, /^Half\s*$/);
    await visitor.trouble.getByRole('button', { name: 'Try again' }).click();
    // Words that are dictated before the second run begins would go to the dead daemon.
    await until(() => dictation.runs.filter((text) => text === 'killed').length === 2);
    dictation.say('killed', 'Whole.');
    dictation.end('killed');
    await shows(visitor, 'Whole.');
    expect(await visitor.chat.locator('.agent .body').allTextContents()).toEqual(['Half', 'Whole.']);
  });

  it.runIf(isThorough)(
    'sends a message that was written while the daemon was down, as soon as the daemon is running again',
    async () => {
      const visitor = await visit(browser.context, origin);
      await visitor.launcher.click();
      await visitor.status.filter({ hasText: 'Ready to help' }).waitFor();
      await daemon.stop();
      await visitor.say('away');
      await visitor.chat.getByText('Not delivered').waitFor();
      await visitor.status.filter({ hasText: 'No connection' }).waitFor();
      dictation.say('away', 'Here I am.');
      dictation.end('away');
      daemon = await startDaemonHere({ directory, env: again(), isKept: true });
      await shows(visitor, 'Here I am.');
      await visitor.status.filter({ hasText: 'Ready to help' }).waitFor();
      expect(dictation.runs.filter((text) => text === 'away')).toHaveLength(1);
    },
  );

  it('requests the answer in one piece, at the configured path, if the daemon has no streams', async () => {
    const other = await startDaemonHere({
      env: { ...settings(), SSE_ENABLED: 'false', WEBCHAT_WEBHOOK_PATH: '/talk' },
    });
    const first = daemon;
    daemon = other;
    try {
      dictation.say('whole', 'All at once.');
      dictation.end('whole');
      const visitor = await visit(browser.context, origin);
      const [answer] = await Promise.all([
        visitor.page.waitForResponse(`${other.url}/talk`),
        visitor.say('whole'),
      ]);
      expect(answer.status()).toBe(200);
      await shows(visitor, 'All at once.');
    } finally {
      daemon = first;
      await other.stop();
    }
  });
});
