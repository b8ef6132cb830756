import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { agentd, BIN, baseEnv } from '../support/daemon.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { Dictation } from '../support/dictation.ts';
import { freePort } from '../support/free-ports.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { HAS_TERMINALS, KEY, Terminal } from '../support/terminal.ts';
import { token } from '../support/tokens.ts';

let dictation: Dictation;
/** The daemon for tests that need no special settings. */
let shared: DaemonHere;
/** The working directory of the current test. */
let directory: string;

beforeAll(async () => {
  dictation = await Dictation.start();
  shared = await startWith();
});

beforeEach(() => {
  dictation.forget();
  shared.forget();
  directory = temporaryFolder('chat');
});

const startWith = (env: Record<string, string> = {}, place: { directory?: string } = {}) =>
  startDaemonHere({ ...place, env: { ...dictation.env, SSE_ENABLED: 'true', ...env } });

const chat = (url: string, input: string, ...args: string[]) =>
  agentd(['chat', '--url', url, ...args], { cwd: directory, input });

/** A running `agentd chat` with pipes for its input and output. */
class Piped {
  stdout = '';
  stderr = '';
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  readonly #listeners = new Set<() => void>();

  constructor(url: string, input: string) {
    this.child = spawn(process.execPath, [BIN, 'chat', '--url', url], {
      cwd: directory,
      env: baseEnv(directory),
      stdio: 'pipe',
    });
    for (const name of ['stdout', 'stderr'] as const) {
      this.child[name]?.setEncoding('utf8').on('data', (text: string) => {
        this[name] += text;
        for (const listener of this.#listeners) listener();
      });
    }
    this.child.stdin?.end(input);
    this.exited = once(this.child, 'close').then(([code]) => code as number | null);
  }

  prints(text: string): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        if (!this.stdout.includes(text)) return;
        this.#listeners.delete(check);
        resolve();
      };
      this.#listeners.add(check);
      check();
    });
  }
}

describe('agentd chat in a pipe', () => {
  it('answers every line in the same session, and prints only the answers', async () => {
    const { url } = shared;
    const { code, stdout, stderr } = await chat(url, 'count 2\n\nme\nhistory\n', '--user', 'ada');
    expect(stdout).toBe('word1 word2 \nnobody\n[["count 2","word1 word2 "],["me","nobody"]]\n');
    expect([code, stderr]).toEqual([0, '']);
  });

  it('acts as the person of the token, and never shows the token', async () => {
    const { url } = shared;
    const jwt = await token({ sub: 'ada' });
    const { code, stdout, stderr } = await chat(url, 'me\nme', '--token', jwt);
    expect([code, stdout]).toEqual([0, 'ada@example.com\nada@example.com\n']);
    expect(stderr).toBe(
      'warning: a token in the arguments is visible in the process list and the shell history\n',
    );
    const expired = await chat(url, 'me', '--token', await token({ ttl: -5 }));
    expect([expired.code, expired.stdout]).toEqual([0, 'nobody\n']);
    expect(expired.stderr).toContain('warning: the token has expired, so it signs nobody in');
    const none = await chat(url, 'me', '--token', 'secret-but-no-token');
    expect(none.stderr).toContain('warning: this is not a token');
    expect(none.stdout + none.stderr).not.toContain('secret-but-no-token');
  });

  it('exits with 69 if there is no daemon', async () => {
    const { code, stdout, stderr } = await chat(`http://127.0.0.1:${await freePort()}`, 'me\n');
    expect([code, stdout]).toEqual([69, '']);
    expect(stderr).toContain('agentd: cannot reach the daemon');
  });

  it('waits while the daemon restarts, and continues the answer', async () => {
    const own = mkdtempSync(join(directory, 'daemon-'));
    const before = await startWith({ SHUTDOWN_GRACE_SECONDS: '25' }, { directory: own });
    const piped = new Piped(before.url, 'restarted\nme\n');
    dictation.say('restarted', 'One. ');
    await piped.prints('One. ');
    const stopped = before.stop();
    dictation.say('restarted', 'Two.');
    dictation.end('restarted');
    expect(await stopped).toBe(0);
    const after = await startWith({ PORT: new URL(before.url).port }, { directory: own });
    expect(await piped.exited).toBe(0);
    expect([piped.stdout, piped.stderr]).toEqual(['One. Two.\nnobody\n', '']);
    await after.stop();
  });
});

if (!HAS_TERMINALS && process.env.CI !== 'true') {
  console.warn('script(1) of util-linux is not installed: `agentd chat` is NOT tried on a terminal');
}

// If script(1) is missing, these tests are skipped or, with CI=true, fail.
describe.skipIf(!HAS_TERMINALS && process.env.CI !== 'true')('agentd chat on a terminal', () => {
  let terminal: Terminal;

  function open(url: string, line = `agentd chat --url ${url}`): Terminal {
    terminal = new Terminal(line, { cwd: directory });
    return terminal;
  }

  it('shows the answer while it is written, recalls messages with the arrow keys, and exits on Ctrl-D', async () => {
    const { url } = shared;
    const { type, shows } = bound(open(url));
    await shows('Ctrl-C stops an answer, Ctrl-D leaves.');
    await shows('› ');
    type(`written${KEY.enter}`);
    await shows('Waiting for the answer…');
    dictation.say('written', 'One. ');
    await shows('One.');
    dictation.say('written', 'Two.');
    dictation.end('written');
    await shows('Two.');
    await shows('› ');
    type(`me${KEY.enter}`);
    await shows('nobody');
    await shows('› ');
    type(`${KEY.up}${KEY.up}`);
    await shows('written');
    type(`${KEY.ctrlC}history${KEY.enter}`);
    await shows('[["written","One. Two."],["me","nobody"]]');
    await shows('› ');
    type(KEY.ctrlD);
    expect(await terminal.exited).toBe(0);
  });

  it('shows Markdown, and signs in with a token that is not shown', async () => {
    const { url } = shared;
    const { type, shows } = bound(open(url));
    await shows('You are not signed in');
    await shows('› ');
    type(`bold${KEY.enter}`);
    dictation.say('bold', '- **On', 'e**\u001b[2J\n- `two`');
    dictation.end('bold');
    await shows('• One');
    await shows('• `two`');
    await shows('› ');
    type(`/sign-in${KEY.enter}`);
    await shows('Token (not shown): ');
    const jwt = await token({ sub: 'ada' });
    type(`${jwt}${KEY.enter}`);
    await shows('You write as ');
    await shows('› ');
    type(`/sign-in${KEY.enter}`);
    await shows('Token (not shown): ');
    type(`no token${KEY.enter}`);
    await shows('Nothing has changed. You write as ');
    await shows('› ');
    type(`me${KEY.enter}`);
    await shows('ada@example.com');
    await shows('› ');
    type(`/quit${KEY.enter}`);
    expect(await terminal.exited).toBe(0);
    expect(terminal.shown).not.toContain('\u001b[2J');
    expect(terminal.shown).not.toContain(jwt.slice(0, 30));
  });

  it('stops the answer on Ctrl-C, in the daemon too, and prompts again', async () => {
    const { url } = shared;
    const { type, shows } = bound(open(url));
    await shows('› ');
    type(`stopped${KEY.enter}`);
    dictation.say('stopped', 'One. ');
    await shows('One.');
    type(KEY.ctrlC);
    await shows('(stopped)');
    await shows('› ');
    type(`history${KEY.enter}`);
    await shows('[["stopped","One. "]]');
    await shows('› ');
    type(KEY.ctrlC);
    expect(await terminal.exited).toBe(0);
  });
});

function bound(terminal: Terminal) {
  return {
    type: (text: string) => terminal.type(text),
    shows: (text: string) => terminal.shows(text),
  };
}
