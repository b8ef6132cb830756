import { request } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Browser, launch, withoutBrowser } from '../browser/browser.ts';
import { follow } from '../browser/visitor.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { effort } from '../support/effort.ts';
import { post } from '../support/webchat.ts';

const DEV = { WEBCHAT_ENABLED: '', JWT_SECRET_KEY: '', JWT_ALGORITHM: '', STATE_DIR: '' };

let daemon: DaemonHere;
let browser: Browser;

beforeAll(async () => {
  daemon = await startDaemonHere({ dev: true, env: DEV });
  if (!withoutBrowser) browser = await launch({ viewport: { width: 1280, height: 860 } });
});

/** Sends a request with this `Host` header, which `fetch` cannot set. */
function statusFor(path: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(`${daemon.url}${path}`, { headers: { Host: host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

describe('the demo page', () => {
  it('is announced when agentd starts', () => {
    expect(daemon.stdout()).toMatch(new RegExp(`^Open in a browser: ${daemon.url}/demo\n`));
  });

  it('is served with a security policy that allows nothing inline and nothing from other origins', async () => {
    const response = await fetch(`${daemon.url}/demo`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = response.headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(response.headers.get('x-frame-options')).toBe('DENY');
  });

  it('signs tokens only for the sample people', async () => {
    const { token } = (await (await fetch(`${daemon.url}/demo/token/grace`)).json()) as { token: string };
    const { body } = await post(daemon.url, { user_id: 'u', message: 'Who am I?' }, { bearer: token });
    expect(body.response).toContain('Grace Hopper');
    const nobody = await fetch(`${daemon.url}/demo/token/mallory`);
    expect(nobody.status).toBe(404);
    expect(await nobody.json()).toMatchObject({ code: 'not_found' });
  });

  it.each(['/demo', '/demo/token/ada', '/demo/requests'])(
    'does not answer a request with a foreign host name, even if the name resolves to this address: %s',
    async (path) => {
      expect(await statusFor(path, 'evil.example')).toBe(404);
      expect(await statusFor(path, 'localhost:8080')).toBe(200);
      expect(await statusFor(path, '127.0.0.1')).toBe(200);
      expect(await statusFor(path, '[::1]:8080')).toBe(200);
    },
  );

  it('does not exist without --dev', async () => {
    const plain = await startDaemonHere();
    for (const path of ['/demo', '/demo/shop.js', '/demo/people', '/demo/token/ada', '/demo/requests']) {
      const response = await fetch(`${plain.url}${path}`);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ code: 'not_found' });
    }
    expect((await fetch(`${plain.url}/webchat/widget.js`)).status).toBe(200);
  });
});

describe.skipIf(withoutBrowser)('a visitor to the demo page', () => {
  it('is answered as the right person, and sees whose credentials the API got', async () => {
    const page = await browser.context.newPage();
    const visitor = follow(page);
    await page.goto(`${daemon.url}/demo`);
    const rows = page.locator('.requests tbody tr');
    await page.getByRole('button', { name: 'Nobody' }).click();
    await page.getByText('Nobody is signed in: the API').waitFor();
    await visitor.chat.getByRole('button', { name: 'Who is ada@example.com?' }).click();
    await visitor.answer.filter({ hasText: 'show details about a person' }).waitFor();
    await rows
      .filter({ hasText: 'GET /users?userEmail=ada@example.com' })
      .filter({ hasText: 'default credentials' })
      .waitFor();
    const before = await rows.count();
    await visitor.say('Who am I?');
    await visitor.answer.filter({ hasText: 'you’re not signed in' }).waitFor();

    await page.getByRole('button', { name: 'Ada Lovelace' }).click();
    await page.getByText('carries the token of ada@example.com').waitFor();
    await visitor.say('Who am I now?');
    await visitor.answer.filter({ hasText: 'Analytical engine, brass' }).waitFor();
    const row = rows
      .filter({ hasText: 'GET /users?userEmail=ada@example.com' })
      .filter({ hasText: 'Ada Lovelace' });
    await row.waitFor();
    expect(await rows.count()).toBeGreaterThan(before);

    await page.getByRole('button', { name: 'Nobody' }).click();
    await visitor.chat.getByText('You are no longer signed in').first().waitFor();
    await visitor.say('Look up ada@example.com');
    await visitor.answer.filter({ hasText: 'show details about a person' }).waitFor();
    expect(await rows.filter({ hasText: 'no credentials' }).count()).toBe(0);
    expect(visitor.complaints).toEqual([]);
  });

  it('stays the same person, even if people in other tabs of the same browser write at the same time', async () => {
    const names = ['Ada Lovelace', 'Grace Hopper', 'Alan Turing'].slice(0, effort(2, 3));
    const visitors = await Promise.all(
      names.map(async (name) => {
        const page = await browser.context.newPage();
        const visitor = follow(page);
        await page.goto(`${daemon.url}/demo`);
        await page.getByRole('button', { name }).click();
        await page.getByText(`carries the token of ${name.split(' ')[0]}`).waitFor();
        return visitor;
      }),
    );
    const questions = ['Who am I?', 'Tell me about myself', 'What do you know of me?'];
    for (const question of questions.slice(0, effort(1, 3))) {
      await Promise.all(visitors.map((visitor) => visitor.say(question)));
      for (const [index, visitor] of visitors.entries()) {
        await visitor.chat.locator('.visitor', { hasText: question }).waitFor();
        await visitor.chat.getByRole('button', { name: 'Send message' }).waitFor();
        expect(await visitor.answer.textContent()).toContain(`You are ${names[index]} `);
      }
    }
  });
});
