import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, read } from './source-files.ts';

const text = read('CONTRIBUTING.md');

/** Paths from the root, without placeholders that a reader fills in. */
const paths = [
  ...text.matchAll(/(?:^|[`\s])((?:src|test|plugins|man|bin|\.ci)(?:\/[\w.-]+)+)(?=[`\s/])/gm),
].map(([, path = '']) => path);

describe('CONTRIBUTING.md', () => {
  it('names only files and folders that exist', () => {
    expect(paths.length).toBeGreaterThan(30);
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it.each(['README.md', 'man/agentd-message.7.md'])(
    'asks contributors to add each step to %s, and the picture there has all steps in order',
    (file) => {
      const [, list = ''] =
        /^export const answerNow = (.*?)\n\n/ms.exec(read('src/daemon/message/steps.ts')) ?? [];
      const steps = [...list.matchAll(/\.step\((\w+)\)/g)].map(([, name = '']) =>
        name.replace(/^identify.*/, 'identify').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
      );
      expect(steps.length).toBeGreaterThan(9);
      const picture = read(file).slice(0, read(file).indexOf('send-reply'));
      expect(`${picture}send-reply`.match(new RegExp(steps.join('.*?'), 's'))?.[0]).toBeDefined();
    },
  );

  it('says what belongs in each folder of the daemon', () => {
    const folders = readdirSync(join(ROOT, 'src/daemon'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
    expect(folders.filter((name) => !text.includes(`| \`src/daemon/${name}\` `))).toEqual([]);
  });
});
