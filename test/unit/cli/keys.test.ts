import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { command as list } from '../../../src/cli/commands/keys-list.ts';
import { command as remove } from '../../../src/cli/commands/keys-remove.ts';
import { command as rotate } from '../../../src/cli/commands/keys-rotate.ts';
import { checkSealing } from '../../../src/cli/doctor/store.ts';
import { createSeal, listMarks, parseKeyId } from '../../../src/daemon/identity/seal.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import type { Settings } from '../../../src/daemon/settings/settings.ts';
import type { Store } from '../../../src/daemon/store/store.ts';
import { ada } from '../../contract/fixtures.ts';
import { dropLink } from '../../support/drop-link.ts';
import { openAt } from '../store/state-directory.ts';
import { capturedOutput, exitCodeOf } from './captured-output.ts';
import { stubSettings, stubState } from './stub-settings.ts';

// agentd-keys(1).

const LINK = 'chat:jwt:u1';
const key = (byte: number) => Buffer.alloc(32, byte).toString('base64');
const idOf = (one: string) => parseKeyId(listMarks(new Secret(one))[0] as string);

describe('agentd keys', () => {
  let settings: Partial<Settings>;
  let file: string;
  let store: Store;

  beforeEach(() => {
    const directory = stubState();
    file = join(directory, 'encryption-key');
    settings = { STATE_DIR: directory, SESSION_BACKEND: 'sqlite' };
    store = openAt(join(directory, 'agentd.db'));
    writeFileSync(file, `${key(1)}\n`, { mode: 0o600 });
  });
  async function call(command: typeof list, args: string[] = [], json = true) {
    const { out, stdout, stderr } = capturedOutput({ json });
    expect(await exitCodeOf(command, { args, options: {}, out })).toBe(0);
    return { printed: json ? JSON.parse(stdout.text) : stdout.text, stderr: stderr.text };
  }
  const seal = (keys: string) => createSeal(new Secret(keys));
  const keep = (keys: string, name = LINK) =>
    store.links.put({ key: name, token: seal(keys).close('t', name), person: ada, ttl_ms: 1e9 });
  const audited = async () =>
    (await store.audit.list({ limit: 9 })).map(({ command, about }) => `${command}: ${about}`);

  it('rotate puts a new key at the beginning of the key file, and records this in the audit log', async () => {
    const { printed, stderr } = await call(rotate);
    const [first = '', ...rest] = readFileSync(file, 'utf8').trim().split(',');
    expect(rest).toEqual([key(1)]);
    expect(printed).toEqual({ key: idOf(first), file });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(stderr + JSON.stringify(printed)).not.toContain(first);
    expect(await audited()).toEqual([`keys rotate: ${idOf(first)}`]);
  });

  it('list and doctor say how to remove an unused key, also one whose hash begins like an option', async () => {
    const dashed = 'bjCD3GNNIgSke3euiH8wQKqdhanisIIgVOeLU38lqw8=';
    writeFileSync(file, [key(1), key(2), dashed].join(','));
    const { stderr } = await call(list);
    expect(stderr).toContain(`\`agentd keys remove ${idOf(key(2))}\``);
    const advice = (await checkSealing(settings as Settings)).map((finding) => finding.advice).join();
    for (const said of [stderr, advice]) expect(said).toContain('`agentd keys remove -- -L0VzGIK`');
  });

  it('list shows the sealing key and how many texts each key sealed, and remove accepts only unused keys', async () => {
    await keep(key(1));
    await keep(key(3), 'other');
    await call(rotate);
    const [added = ''] = readFileSync(file, 'utf8').split(',');
    const rows = [
      { key: idOf(added), role: 'seals', source: file, texts: 0 },
      { key: idOf(key(1)), role: 'opens', source: file, texts: 1 },
      { key: idOf(key(3)), role: 'unknown', source: null, texts: 1 },
    ];
    expect((await call(list)).printed).toEqual(rows);
    const refused = (id: string) => remove.run({ args: [id], options: {}, out: capturedOutput().out });
    await expect(refused(idOf(key(1)))).rejects.toThrow('1 stored text is sealed with key');
    await expect(refused(idOf(added))).rejects.toThrow('cannot be removed, because it seals new tokens');
    await expect(refused(idOf(key(3)))).rejects.toMatchObject({ exitCode: 1 });
    await expect(refused('x')).rejects.toThrow(`there is no key x in ${file}`);

    const resealed = seal(added).close('t', LINK);
    await store.replaceToken(
      { kind: 'link', key: LINK, token: (await store.links.get(LINK))?.token ?? '' },
      resealed,
    );
    const { stderr } = await call(list, [], false);
    expect(stderr).toContain(`Key ${idOf(key(1))} in ${file} is no longer used.`);
    await call(remove, [idOf(key(1))]);
    expect(readFileSync(file, 'utf8')).toBe(`${added}\n`);
    expect(await audited()).toContain(`keys remove: ${idOf(key(1))}`);
  });

  it('rotate prints the new line if the keys are in TOKEN_ENCRYPTION_KEY, and does not change the key file', async () => {
    stubSettings({ TOKEN_ENCRYPTION_KEY: new Secret(`${key(4)},${key(5)}`) });
    const { printed, stderr } = await call(rotate, [], false);
    expect(printed).toMatch(/^TOKEN_ENCRYPTION_KEY=[A-Za-z0-9+/]{43}=,[^,]+,[^,]+\n$/);
    expect(printed).toContain(`=,${key(4)},${key(5)}\n`);
    expect(stderr).not.toContain(key(4));
    expect(readFileSync(file, 'utf8')).toBe(`${key(1)}\n`);
    expect((await audited())[0]).toContain('to be set in TOKEN_ENCRYPTION_KEY');

    const { printed: document } = await call(rotate);
    expect(document).toMatchObject({ file: null, TOKEN_ENCRYPTION_KEY: expect.stringContaining(key(5)) });
    rmSync(file);
    const refused = remove.run({ args: ['x'], options: {}, out: capturedOutput().out });
    await expect(refused).rejects.toThrow(/there is no key x in TOKEN_ENCRYPTION_KEY$/);
    writeFileSync(file, `${key(1)}\n`);
    // While TOKEN_ENCRYPTION_KEY is set, the key in the file is used only to open texts.
    expect((await call(list)).printed.map(({ role }: { role: string }) => role)).toEqual([
      'seals',
      'opens',
      'opens',
    ]);
  });

  it('list and remove say how to remove a key that is in TOKEN_ENCRYPTION_KEY', async () => {
    stubSettings({ TOKEN_ENCRYPTION_KEY: new Secret(`${key(4)},${key(5)}`) });
    const { stderr } = await call(list, [], false);
    expect(stderr).toContain(
      `Key ${idOf(key(5))} in TOKEN_ENCRYPTION_KEY is no longer used. Take it out of TOKEN_ENCRYPTION_KEY`,
    );
    expect(stderr).not.toContain(`agentd keys remove ${idOf(key(5))}`);
    await expect(
      remove.run({ args: [idOf(key(5))], options: {}, out: capturedOutput().out }),
    ).rejects.toMatchObject({
      exitCode: 1,
      message: `key ${idOf(key(5))} is in TOKEN_ENCRYPTION_KEY, which agentd does not change`,
      advice: expect.stringContaining('Take it out of TOKEN_ENCRYPTION_KEY'),
    });
    expect(await audited()).toEqual([]);
  });

  it('rotate fails if sealing is off, or if there is no key yet', async () => {
    const run = () => rotate.run({ args: [], options: {}, out: capturedOutput().out });
    rmSync(file);
    await expect(run()).rejects.toThrow('there is no key yet');
    stubSettings({ TOKEN_ENCRYPTION_KEY: new Secret('off') });
    await expect(run()).rejects.toThrow('sealing is off');
    expect(await audited()).toEqual([]);
  });

  it('doctor reports whether the previous key is still used', async () => {
    await keep(key(1));
    await call(rotate);
    const details = async () =>
      (await checkSealing(settings as Settings)).map(({ outcome, detail }) => `${outcome} ${detail}`);
    expect(await details()).toEqual([
      `ok stored tokens are sealed with the key in ${file}`,
      `ok 1 stored text is still sealed with the earlier key ${idOf(key(1))} in ${file}`,
    ]);
    await dropLink(store.links, LINK);
    expect((await details())[1]).toBe(`ok the earlier key ${idOf(key(1))} in ${file} is no longer used`);
  });
});
