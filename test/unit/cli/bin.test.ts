import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const BIN = fileURLToPath(new URL('../../../bin/agentd.js', import.meta.url));
let installed: string;

/** A separate installation with a program that prints its arguments and the variable AGENTD_HANDED_OVER. */
beforeEach(() => {
  installed = temporaryFolder('bin');
  write('package.json', '{"type":"module"}');
  mkdirSync(join(installed, 'bin'));
  copyFileSync(BIN, join(installed, 'bin/agentd.js'));
  write(
    'dist/src/cli/main.js',
    'console.log(JSON.stringify({ argv: process.argv.slice(2), env: process.env.AGENTD_HANDED_OVER }));',
  );
});

function write(file: string, content: string): void {
  mkdirSync(dirname(join(installed, file)), { recursive: true });
  writeFileSync(join(installed, file), content);
}

/** Makes bin/agentd.js see an old version of Node.js. */
const OLD = [
  '--import',
  `data:text/javascript,if(!process.env.AGENTD_HANDED_OVER)Object.defineProperty(process.versions,'node',{value:'20.11.1'})`,
];
const OLD_FOR_EVER = [
  '--import',
  `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.11.1'})`,
];

/** The tests have a cache of compiled code for their own modules. */
const { NODE_COMPILE_CACHE: _, ...WITHOUT_CACHE } = process.env;

function run(node: readonly string[], ...args: string[]) {
  return spawnSync(process.execPath, [...node, join(installed, 'bin/agentd.js'), ...args], {
    encoding: 'utf8',
    env: WITHOUT_CACHE,
  });
}

/** Runs the installed program. The first Node.js in PATH is the Node.js that runs the tests. */
function runInstalled(...args: string[]) {
  return spawnSync(join(installed, 'bin/agentd.js'), args, {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
  });
}

function pinNode(): void {
  mkdirSync(join(installed, 'node_modules/node/bin'), { recursive: true });
  symlinkSync(process.execPath, join(installed, 'node_modules/node/bin/node'));
}

/** A stand-in for the pinned Node.js. */
function pinScript(source: string): void {
  write('node_modules/node/bin/node', `#!${process.execPath}\n${source}`);
  chmodSync(join(installed, 'node_modules/node/bin/node'), 0o755);
}

describe('bin/agentd.js', () => {
  it('passes its arguments to the program', () => {
    const { status, stdout } = run([], 'sessions', 'list');
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ argv: ['sessions', 'list'] });
  });

  it.each([['--env-file', '/no/such/file'], ['--env-file=/no/such/file']])(
    'hides the option %s from Node.js, which would otherwise exit with 9',
    (...option) => {
      const direct = runInstalled('status', ...option);
      expect([direct.status, direct.stderr]).toEqual([0, '']);
      expect(JSON.parse(direct.stdout)).toEqual({ argv: ['status', ...option] });
      pinNode();
      const handedOver = run([...OLD, '--'], 'status', ...option);
      expect([handedOver.status, handedOver.stderr]).toEqual([0, '']);
      expect(JSON.parse(handedOver.stdout)).toEqual({ argv: ['status', ...option] });
    },
  );

  it('runs through a symbolic link, even if its path has spaces', () => {
    const link = join(installed, 'a link to agentd');
    symlinkSync(join(installed, 'bin/agentd.js'), link);
    const { status, stdout } = spawnSync(link, ['a b', "c'd"], { encoding: 'utf8' });
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ argv: ['a b', "c'd"] });
  });

  it('keeps compiled code beside the program, and works without it', () => {
    const kept = join(installed, 'dist/.compiled');
    run([], 'status');
    expect(readdirSync(kept, { recursive: true, withFileTypes: true }).some((one) => one.isFile())).toBe(
      true,
    );
    rmSync(kept, { recursive: true });
    writeFileSync(kept, 'not a directory');
    const { status, stdout, stderr } = run([], 'status');
    expect([status, JSON.parse(stdout).argv, stderr]).toEqual([0, ['status'], '']);
  });

  it.runIf(process.getuid?.() === 0)('keeps no compiled code beside the program of another user', () => {
    chownSync(join(installed, 'dist'), 12_345, 12_345);
    expect(run([], 'status').status).toBe(0);
    expect(readdirSync(join(installed, 'dist'))).toEqual(['src']);
  });

  it('says what to run if the program is not built', () => {
    rmSync(join(installed, 'dist'), { recursive: true });
    const { status, stderr } = run([]);
    expect(status).toBe(78);
    expect(stderr).toMatch(/^agentd: not built yet: .*main\.js is missing\. Run `npm ci` in .*\n$/);
  });

  it('on an old Node.js, names the required version and the actual version', () => {
    const { status, stderr } = run(OLD);
    expect(status).toBe(78);
    expect(stderr).toMatch(
      /^agentd: needs Node\.js >= 22\.18, but this is v20\.11\.1 \(.*\)\. Install a newer one, .*\n$/,
    );
  });

  it('on an old Node.js, hands over to the pinned Node.js without an additional environment variable', () => {
    pinNode();
    const { status, stdout } = run(OLD, 'token', 'verify', '-');
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ argv: ['token', 'verify', '-'] });
  });

  it('gives Node.js the same options when it hands over as when a shell starts it', () => {
    write('dist/src/cli/main.js', 'console.log(JSON.stringify(process.execArgv));');
    const direct = runInstalled();
    pinNode();
    const handedOver = run(OLD);
    expect(JSON.parse(handedOver.stdout)).toEqual(JSON.parse(direct.stdout));
    expect(JSON.parse(direct.stdout)).toEqual([expect.stringContaining('semi-space')]);
  });

  it.each([
    ['as a shell starts it', false],
    ['after it has handed over', true],
  ])(
    'opens no inspector at SIGUSR1, which any program of the same user can send, %s',
    async (_how, isOld) => {
      pinNode();
      write(
        'dist/src/cli/main.js',
        `import inspector from 'node:inspector';
      process.on('SIGTERM', () => setImmediate(() => {
        console.log(inspector.url(), process.listenerCount('SIGUSR1'));
        process.exit();
      }));
      console.log(process.pid);
      setTimeout(() => {}, 60_000);`,
      );
      const child = isOld
        ? spawn(process.execPath, [...OLD, join(installed, 'bin/agentd.js')])
        : spawn(join(installed, 'bin/agentd.js'), {
            env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
          });
      let errors = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        errors += text;
      });
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
      const program = Number((await lines.next()).value);
      for (const pid of new Set([child.pid ?? 0, program])) process.kill(pid, 'SIGUSR1');
      process.kill(program, 'SIGTERM');
      expect(await lines.next()).toEqual({ done: false, value: 'undefined 1' });
      await once(child, 'close');
      expect(errors).toBe('');
    },
  );

  it('does not hand over a second time if the pinned Node.js is also too old', () => {
    write('old.mjs', `Object.defineProperty(process.versions, 'node', { value: '20.11.1' });`);
    pinScript(
      `process.exitCode = require('node:child_process').spawnSync(process.execPath, ['--import', ${JSON.stringify(`file://${installed}/old.mjs`)}, ...process.argv.slice(2)], { stdio: 'inherit' }).status;`,
    );
    const { status, stderr } = run(OLD_FOR_EVER);
    expect(status).toBe(78);
    expect(stderr.match(/needs Node\.js/g)).toHaveLength(1);
  });

  it('exits with the exit code of the process that took over', () => {
    pinScript('process.exitCode = 7;');
    expect(run(OLD).status).toBe(7);
  });

  it('exits with 128 plus the number of the signal that ended the process that took over', () => {
    pinScript(`process.kill(process.pid, 'SIGKILL'); setTimeout(() => {}, 60_000);`);
    expect(run(OLD).status).toBe(137);
  });

  it('if it is killed, the process that took over is killed, too', async () => {
    pinNode();
    write(
      'dist/src/cli/main.js',
      `process.on('SIGTERM', () => { console.log('stopping'); process.exit(); });
      console.log(process.pid);
      setTimeout(() => {}, 60_000);`,
    );
    const launcher = spawn(process.execPath, [...OLD, join(installed, 'bin/agentd.js')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface(launcher.stdout)[Symbol.asyncIterator]();
    const daemon = Number((await lines.next()).value);
    onTestFinished(() => {
      if (existsSync(`/proc/${daemon}`)) process.kill(daemon, 'SIGKILL');
    });
    launcher.kill('SIGKILL');
    expect(await lines.next()).toEqual({ done: true, value: undefined });
    await expect.poll(() => existsSync(`/proc/${daemon}`)).toBe(false);
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'without a terminal, passes %s on exactly once',
    async (signal) => {
      pinScript(`
      let count = 0;
      process.on('${signal}', () => { count++; setTimeout(() => process.exit(40 + count), 100); });
      console.log('ready');
      setTimeout(() => {}, 60_000);`);
      const child = spawn(process.execPath, [...OLD, join(installed, 'bin/agentd.js')], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      await once(child.stdout, 'data');
      child.kill(signal);
      expect(await once(child, 'exit')).toEqual([41, null]);
    },
  );
});
