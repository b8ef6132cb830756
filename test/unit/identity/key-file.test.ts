import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  changeKeyFile,
  KeyFileUnchanged,
  makeKeyFile,
  readKeyFile,
  WatchedKeyFile,
} from '../../../src/daemon/identity/key-file.ts';
import {
  createSeal,
  openAdministratorSeal,
  openSeal,
  type SealSettings,
} from '../../../src/daemon/identity/seal.ts';
import { ConfigurationError } from '../../../src/daemon/settings/problem.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'agentd-key-'));
  path = join(directory, 'encryption-key');
});
afterEach(() => rmSync(directory, { recursive: true }));

const key = (byte: number) => Buffer.alloc(32, byte).toString('base64');
const write = (content: string, mode = 0o600) => writeFileSync(path, content, { mode });
const keyIn = async () => (await readKeyFile(directory))?.keys.reveal();

describe('the key file', () => {
  it('is created once and readable only by its owner, and no other files remain', async () => {
    await makeKeyFile(directory);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const made = await keyIn();
    expect(made).toMatch(/^[A-Za-z0-9+/]{43}=$/);
    await makeKeyFile(directory);
    expect(await keyIn()).toBe(made);
    expect(readdirSync(directory)).toEqual(['encryption-key']);
  });

  it('is created by the first of many simultaneous starts, and used by all of them', async () => {
    const seen = await Promise.all(
      Array.from({ length: 20 }, async () => {
        await makeKeyFile(directory);
        return keyIn();
      }),
    );
    expect(new Set(seen).size).toBe(1);
    expect(readdirSync(directory)).toEqual(['encryption-key']);
  });

  it('is not replaced if it is broken', async () => {
    write('');
    await makeKeyFile(directory);
    expect(readFileSync(path, 'utf8')).toBe('');
  });

  it('may contain several keys, and needs no line break at its end', async () => {
    write(`${key(2)},${key(1)}`);
    expect(await keyIn()).toBe(`${key(2)},${key(1)}`);
  });

  it.each([
    ['is empty', ''],
    ['is truncated', `${key(1).slice(0, 20)}\n`],
    ['has only 16 bytes', `${Buffer.alloc(16, 1).toString('base64')}\n`],
    ['contains the word off', 'off\n'],
    ['has a broken second key', `${key(1)},x\n`],
    ['is far too long', Array.from({ length: 100 }, (_, byte) => key(byte)).join()],
  ])(
    'stops the program that reads it if it %s, and the error does not show its content',
    async (_what, content) => {
      write(content);
      const error = await readKeyFile(directory).catch((reason: unknown) => reason as Error);
      expect(error).toBeInstanceOf(ConfigurationError);
      expect((error as Error).message).toContain(path);
      if (content.length > 10) expect((error as Error).message).not.toContain(content.slice(0, 10));
    },
  );

  it('stops the program that reads it if it is a directory', async () => {
    mkdirSync(path);
    await expect(readKeyFile(directory)).rejects.toThrow('is not a regular file');
  });

  it('stops the program that reads it if it is a named pipe, into which nobody writes', async () => {
    execFileSync('mkfifo', [path]);
    await expect(readKeyFile(directory)).rejects.toThrow('is not a regular file');
  });

  it('is not to be replaced if it only cannot be read now, since no other key unseals the stored tokens', async () => {
    const rightOf = async () => {
      const error = await readKeyFile(directory).catch((thrown: unknown) => thrown);
      return (error as ConfigurationError).problems[0]?.right;
    };
    write('broken');
    expect(await rightOf()).toMatch(/^the key from a backup/);
    rmSync(path);
    // A file of another user is the usual reason; the tests may run as root.
    symlinkSync(path, path);
    expect(await rightOf()).toMatch(/^a file that the user of the daemon can read; do not replace it/);
    rmSync(path);
    symlinkSync(join(directory, 'volume/key'), path);
    expect(await rightOf()).toMatch(/^a link to a file that exists: .* mounted; do not replace it/);
  });

  it('stops the program that reads it if it is a symbolic link to a file on a volume that is missing', async () => {
    symlinkSync('not-mounted/key', path);
    await expect(readKeyFile(directory)).rejects.toThrow('is a symbolic link to a file that is missing');
  });

  it.each([0o640, 0o604, 0o622])('causes a warning if its mode is %o', async (mode) => {
    write(`${key(1)}\n`);
    chmodSync(path, mode);
    expect((await readKeyFile(directory))?.loose).toContain(
      `(mode 0${mode.toString(8)}); run: chmod 600 ${path}`,
    );
    chmodSync(path, 0o600);
    expect((await readKeyFile(directory))?.loose).toBeNull();
  });
});

describe('the seal of the daemon', () => {
  const warnings: string[] = [];
  const log = { warn: (_fields: object, text: string) => void warnings.push(text), info: () => undefined };
  /** Opens the seal with this many sealed tokens in the store. */
  const sealOf = (settings: Partial<SealSettings> = {}, stored = 0) => {
    const all: SealSettings = { STATE_DIR: directory, TOKEN_ENCRYPTION_KEY: undefined, ...settings };
    return openSeal(
      all,
      { countSeals: async () => new Map([['sealed.v1.keykey_1.', { texts: stored, tokens: stored }]]) },
      log as never,
    );
  };
  const sealed = (byte: number) => createSeal(new Secret(key(byte))).close('a.b.c', 'record');
  beforeEach(() => {
    warnings.length = 0;
  });

  it('uses a key that the first start creates and the next start finds', async () => {
    const first = await sealOf();
    const stored = first.close('a.b.c', 'record');
    expect(stored).toMatch(/^sealed\.v1\./);
    expect((await sealOf({}, 1)).open(stored, 'record')).toBe('a.b.c');
    expect(warnings).toEqual([]);
  });

  it('can still read tokens that were stored unsealed', async () => {
    expect((await sealOf()).open('a.b.c', 'record')).toBe('a.b.c');
  });

  it('seals with the key in TOKEN_ENCRYPTION_KEY if it is set, and creates no other key', async () => {
    const seal = await sealOf({ TOKEN_ENCRYPTION_KEY: new Secret(key(1)) }, 5);
    expect(seal.open(sealed(1), 'record')).toBe('a.b.c');
    expect(readdirSync(directory)).toEqual([]);
  });

  it('opens tokens that the key in the file sealed, even if the setting has another key or is off', async () => {
    write(`${key(2)}\n`);
    const other = await sealOf({ TOKEN_ENCRYPTION_KEY: new Secret(key(1)) });
    expect(other.open(sealed(2), 'record')).toBe('a.b.c');
    expect(createSeal(new Secret(key(1))).open(other.close('a.b.c', 'record'), 'record')).toBe('a.b.c');
    const off = await sealOf({ TOKEN_ENCRYPTION_KEY: new Secret(' OFF ') });
    expect(off.close('a.b.c', 'record')).toBe('a.b.c');
    expect(off.open(sealed(2), 'record')).toBe('a.b.c');
  });

  it('stops the start if tokens are sealed with a missing key, and creates no new key', async () => {
    await expect(sealOf({}, 3)).rejects.toThrow('the store contains 3 sealed tokens');
    expect(readdirSync(directory)).toEqual([]);
  });

  it('makes a key if no stored token is sealed', async () => {
    const settings = { STATE_DIR: directory, TOKEN_ENCRYPTION_KEY: undefined };
    const counts = new Map([['', { texts: 3, tokens: 3 }]]);
    await openSeal(settings, { countSeals: async () => counts }, log as never);
    expect(readdirSync(directory)).toEqual(['encryption-key']);
  });

  it('seals nothing in a store that several daemons share, unless the setting has the key', async () => {
    const shared = { SESSION_BACKEND: 'redis' } as const;
    expect((await sealOf(shared, 3)).close('a.b.c', 'record')).toBe('a.b.c');
    expect(readdirSync(directory)).toEqual([]);
    write(`${key(2)}\n`);
    const seal = await sealOf(shared);
    expect(seal.close('a.b.c', 'record')).toBe('a.b.c');
    expect(seal.open(sealed(2), 'record')).toBe('a.b.c');
  });

  it('follows a change of the key in the file', async () => {
    const seal = await sealOf();
    await changeKeyFile(directory, (keys) => [key(1), ...keys]);
    const stored = seal.close('a.b.c', 'record');
    expect(createSeal(new Secret(key(1))).open(stored, 'record')).toBe('a.b.c');
  });

  it('causes a warning if others can read the key', async () => {
    write(`${key(1)}\n`, 0o644);
    chmodSync(path, 0o644);
    await sealOf();
    expect(warnings).toEqual([expect.stringContaining('(mode 0644)')]);
  });

  it('causes a warning if every user can replace files in STATE_DIR', async () => {
    chmodSync(directory, 0o1777);
    await sealOf({ TOKEN_ENCRYPTION_KEY: new Secret(key(1)) });
    expect(warnings).toEqual([expect.stringContaining(`chmod 700 ${directory}`)]);
  });
});

describe('the seal of an administrator', () => {
  const of = (keys?: string) =>
    openAdministratorSeal({
      STATE_DIR: directory,
      TOKEN_ENCRYPTION_KEY: keys === undefined ? undefined : new Secret(keys),
    });

  it('creates no key, and reports that it has none', async () => {
    expect((await of()).knowsKey).toBe(false);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('uses the same key as the daemon: from the file or from the setting, which may also be off', async () => {
    expect((await of(key(1))).knowsKey).toBe(true);
    expect((await of('off')).knowsKey).toBe(true);
    const shared = {
      STATE_DIR: directory,
      TOKEN_ENCRYPTION_KEY: undefined,
      SESSION_BACKEND: 'redis',
    } as const;
    expect((await openAdministratorSeal(shared)).knowsKey).toBe(true);
    write(`${key(3)}\n`);
    const { seal, knowsKey } = await of();
    expect(knowsKey).toBe(true);
    expect(createSeal(new Secret(key(3))).open(seal.close('a.b.c', 'r'), 'r')).toBe('a.b.c');
  });
});

describe('a command that changes the key file', () => {
  it('replaces the keys, keeps the file readable only by its owner, and leaves no other files', async () => {
    write(`${key(1)}\n`);
    await changeKeyFile(directory, (keys) => [key(2), ...keys]);
    expect(await keyIn()).toBe(`${key(2)},${key(1)}`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual(['encryption-key']);
    await changeKeyFile(directory, () => []);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('is refused while another change is in progress, but not after an interrupted change', async () => {
    write(key(1));
    writeFileSync(`${path}.next`, key(9));
    const change = () => changeKeyFile(directory, (keys) => [key(2), ...keys]);
    await expect(change()).rejects.toThrow('another command is changing the keys');
    expect(await keyIn()).toBe(key(1));
    utimesSync(`${path}.next`, 1, 1);
    await change();
    expect(await keyIn()).toBe(`${key(2)},${key(1)}`);
  });

  it('loses no key if many commands change the file at once', async () => {
    write(key(1));
    const changes = Array.from({ length: 10 }, (_, n) =>
      changeKeyFile(directory, (keys) => [key(n + 2), ...keys]).then(
        () => key(n + 2),
        () => null,
      ),
    );
    const added = (await Promise.all(changes)).filter((one) => one !== null);
    expect(added.length).toBeGreaterThan(0);
    expect((await keyIn())?.split(',').sort()).toEqual([key(1), ...added].sort());
  });

  it('does not change a symbolic link or a broken file, and creates no missing file', async () => {
    const change = () => changeKeyFile(directory, (keys) => [key(2), ...keys]);
    await expect(change()).rejects.toBeInstanceOf(KeyFileUnchanged);
    write('short');
    await expect(change()).rejects.toBeInstanceOf(ConfigurationError);
    renameSync(path, join(directory, 'elsewhere'));
    symlinkSync('elsewhere', path);
    await expect(change()).rejects.toThrow('is a symbolic link');
    expect(readdirSync(directory).sort()).toEqual(['elsewhere', 'encryption-key']);
  });
});

describe('the key file of a running daemon', () => {
  it('is read again when it has changed, and its last keys stay in use if it disappears', async () => {
    write(key(1));
    const file = await readKeyFile(directory);
    if (!file) throw new Error('there is no file');
    const warned: unknown[] = [];
    const watched = new WatchedKeyFile(file, {
      warn: (...words: unknown[]) => void warned.push(words),
    } as never);
    const seal = createSeal(watched);
    const before = seal.close('x', 'r');
    const known = watched.current();
    write(`${key(1)}\n`);
    expect(watched.current()).toBe(known);
    await changeKeyFile(directory, (keys) => [key(2), ...keys]);
    const both = createSeal(new Secret(`${key(2)},${key(1)}`));
    expect(seal.open(both.close('new', 'r'), 'r')).toBe('new');
    expect(seal.open(before, 'r')).toBe('x');
    expect(createSeal(new Secret(key(2))).open(seal.close('y', 'r'), 'r')).toBe('y');
    expect(seal.marks).toEqual(both.marks);

    // Each use notices a change, also one that leaves the file as long as before.
    write(`${key(3)},${key(2)}\n`);
    expect(createSeal(new Secret(key(3))).open(seal.close('z', 'r'), 'r')).toBe('z');
    await changeKeyFile(directory, () => [key(2), key(1)]);
    expect(seal.digests('x', 'purpose')).toEqual(both.digests('x', 'purpose'));

    write('broken');
    expect(seal.marks).toEqual(both.marks);
    expect(warned.splice(0)).toHaveLength(1);
    rmSync(path);
    expect(seal.open(before, 'r')).toBe('x');
    expect(seal.marks).toEqual(both.marks);
    expect(seal.marks).toEqual(both.marks);
    expect(warned).toHaveLength(1);
    execFileSync('mkfifo', [path]);
    expect(seal.marks).toEqual(both.marks);
    expect(warned).toHaveLength(2);
    expect(JSON.stringify(warned)).not.toContain(key(1));
  });
});
