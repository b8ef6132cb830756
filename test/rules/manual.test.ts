import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pages } from '../../man/generate.ts';
import { example, optionTerm, prose, text } from '../../man/mdoc.ts';
import { filesBelow, ROOT, read } from './source-files.ts';

const mandoc = spawnSync('mandoc', ['-T', 'lint', '/dev/null']).error === undefined;
const manuals = filesBelow('man').filter((file) => /\.[1-8]$/.test(file));

if (!mandoc && process.env.CI !== 'true') {
  console.warn('mandoc is not installed: the manual pages are NOT checked (apt-get install mandoc)');
}

const generated = await pages();

describe('the manual pages', () => {
  it.each([...generated])('%s is what `npm run man` writes', (file, content) => {
    expect(read(`man/${file}`)).toBe(content);
  });

  // With CI=true this runs, and fails, where mandoc is missing.
  it.skipIf(!mandoc && process.env.CI !== 'true').each(manuals)('%s is good mdoc', (file) => {
    const { status, stdout } = spawnSync('mandoc', ['-T', 'lint', '-W', 'warning', join(ROOT, file)], {
      encoding: 'utf8',
    });
    expect(stdout).toBe('');
    expect(status).toBe(0);
  });

  it('refer only to pages that there are', () => {
    const known = new Set(manuals.map((file) => file.slice('man/'.length)));
    const missing = manuals.flatMap((file) =>
      [...read(file).matchAll(/^\.Xr (agentd\S*) (\d)/gm)]
        .map(([, name, section]) => `${name}.${section}`)
        .filter((page) => !known.has(page))
        .map((page) => `${file} refers to ${page}`),
    );
    expect(missing).toEqual([]);
  });
});

describe('agentd-channel(7)', () => {
  it('begins with a table of its contents', () => {
    const [, contents = '', rest = ''] =
      /^\.Sh CONTENTS\n(.*?)^(\.Sh TUTORIAL\n.*)/ms.exec(read('man/agentd-channel.7')) ?? [];
    const named = [...contents.matchAll(/^\.Sx "?([^":\n]+?)"?(?: :)?$/gm)].map(([, title]) => title);
    const sections = [...rest.matchAll(/^\.S[hs] (.+)$/gm)].map(([, title]) => title);
    expect(named).toEqual(sections.filter((title) => title !== 'SYNOPSIS' && title !== 'SEE ALSO'));
  });
});

describe('the documents at the top', () => {
  it.each(['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md'])(
    '%s leads only to files that there are',
    (file) => {
      const missing = [...read(file).matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
        .map(([, target]) => target as string)
        .filter((target) => !existsSync(join(ROOT, target)));
      expect(missing).toEqual([]);
    },
  );
});

describe('mdoc', () => {
  it('escapes what roff would take for its own', () => {
    expect(text(".a\\b\n'c é")).toBe("\\&.a\\eb\n\\&'c \\[u00E9]");
  });

  it('puts sentences on lines of their own, code in bold', () => {
    expect(prose('Run `a --b`. Then `.env`. E.g. this.')).toBe(
      'Run \\fBa \\-\\-b\\fR.\nThen \\fB.env\\fR.\nE.g. this.',
    );
  });

  it('keeps the quotes of a command line', () => {
    expect(example({ line: 'agentd chat "a b"', does: 'Talks.' })).toBe(
      'Talks.\n.Dl $ agentd chat \\(dqa b\\(dq',
    );
  });

  it('writes the flags of an option', () => {
    expect(optionTerm('-n, --lines <n>')).toBe('Fl n , Fl -lines Ar n');
    expect(optionTerm('--json')).toBe('Fl -json');
  });
});
