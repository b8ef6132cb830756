import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pages } from '../../man/build/generate.ts';
import { optionTerm, prose } from '../../man/build/markdown.ts';
import { writeMdoc } from '../../man/build/mdoc.ts';
import { mdocPages } from '../../man/build/mdoc-pages.ts';
import { findHeadings, findLinks, readPage } from '../../man/build/page.ts';
import { filesBelow, ROOT, read } from './source-files.ts';

const mandoc = spawnSync('mandoc', ['-T', 'lint', '/dev/null']).error === undefined;
const manual = filesBelow('man').filter((file) => file.endsWith('.md'));

if (!mandoc && process.env.CI !== 'true') {
  console.warn('mandoc is not installed: the manual pages are NOT checked (apt-get install mandoc)');
}

const generated = await pages();

describe('the manual pages', () => {
  it.each([...generated])('%s is what `npm run man` writes', (file, content) => {
    expect(read(`man/${file}`)).toBe(content);
  });

  // If mandoc is missing, this is skipped or, with CI=true, fails.
  it.skipIf(!mandoc && process.env.CI !== 'true').each([...mdocPages()])(
    '%s is valid mdoc',
    (_page, content) => {
      const { status, stdout } = spawnSync('mandoc', ['-T', 'lint', '-W', 'warning'], {
        encoding: 'utf8',
        input: content,
      });
      expect(stdout).toBe('');
      expect(status).toBe(0);
    },
  );

  it.each(manual)('%s has the name that is in its first line', (file) => {
    const { name, section } = readPage(read(file));
    expect(file).toBe(`man/${name}.${section}.md`);
  });
});

describe('agentd-channel(7)', () => {
  it('begins with a table of its contents', () => {
    const markdown = read('man/agentd-channel.7.md');
    const [, contents = ''] = /^## Contents\n(.*?)^## /ms.exec(markdown) ?? [];
    const named = [...contents.matchAll(/^- \[(.+?)\]\(#/gm)].map(([, title]) => title);
    const titles = findHeadings(readPage(markdown)).map(({ title }) => title);
    const notListed = ['Contents', 'Synopsis', 'See also'];
    expect(named).toEqual(titles.filter((title) => !notListed.includes(title)));
  });
});

describe('the links of a document', () => {
  it.each(['README.md', 'CHANGELOG.md', 'SECURITY.md', 'plugins/template/README.md', ...manual])(
    '%s has only links to files and sections that exist',
    (file) => {
      expect(targetsIn(file).filter((target) => !exists(file, target))).toEqual([]);
    },
  );
});

/** The targets of links within the repository. */
function targetsIn(file: string): string[] {
  const targets = file.startsWith('man/')
    ? findLinks(readPage(read(file)))
    : [...read(file).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets.filter((target) => !/^https?:/.test(target));
}

function exists(file: string, target: string): boolean {
  const [path, anchor] = target.split('#');
  const of = path === '' || path === undefined ? file : join(dirname(file), path);
  if (!existsSync(join(ROOT, of))) return false;
  if (anchor === undefined || !of.startsWith('man/')) return true;
  return findHeadings(readPage(read(of))).some((heading) => heading.anchor === anchor);
}

describe('a page for man(1)', () => {
  const body = (markdown: string) =>
    writeMdoc(readPage(`# agentd-x(7) - a page\n\n${markdown}`))
      .split('\n')
      .slice(7, -1)
      .join('\n');

  it('has a name, a date and a summary', () => {
    expect(writeMdoc(readPage('# agentd-x(7) - a page'))).toMatch(
      /^\.\\" .+\n\.Dd \w+ \d+, \d+\n\.Dt AGENTD-X 7\n\.Os\n\.Sh NAME\n\.Nm agentd-x\n\.Nd a page\n$/,
    );
  });

  it('escapes characters that roff would interpret', () => {
    expect(body("a\\\\b 'c é.\n\n'Tis so.")).toBe("a\\eb 'c \\[u00E9].\n.Pp\n\\&'Tis so.");
    expect(body('```\n.a\n\\b "c" it\'s ~x^y`z-1\n```')).toBe(
      '.Bd -literal -offset indent\n\\&.a\n\\eb "c" it\\(aqs \\(tix\\(hay\\(gaz\\-1\n.Ed',
    );
  });

  it('has each sentence on its own line, and markup as fonts', () => {
    expect(body('Run `a --b`. *Then* **so**. E.g.\nthis.')).toBe(
      'Run \\fB\\%a \\%\\-\\-b\\fR.\n\\fIThen\\fR \\fBso\\fR.\nE.g. this.',
    );
  });

  it('refers to other pages, and keeps punctuation next to a reference', () => {
    const link = '[agentd-y(5)](agentd-y.5.md#files)';
    expect(body(`See (${link}), "Files".`)).toBe('See\n.No "\\&(" Ns Xr agentd-y 5 ) ,\n"Files".');
    expect(body(`${link}'s [Files](#files).`)).toBe('.Xr agentd-y 5 Ns No "\\&\'s"\n.Sx "Files" .');
    expect(body('[so](https://example.com/) in [a/b](../a/b)')).toBe(
      '.Lk https://example.com/ "so"\nin \\fIa/b\\fR',
    );
  });

  it('has lists of terms, points and steps', () => {
    expect(body('- `a`, `b c` (d): One. Two\n\n  ```\n  x\n  ```\n- **e**:\n  three')).toBe(
      [
        '.Bl -tag -width Ds',
        '.It "\\fB\\%a\\fR, \\fB\\%b \\%c\\fR (d)"\nOne.\nTwo\n.Bd -literal -offset indent\nx\n.Ed',
        '.It "\\fBe\\fR"\nthree',
        '.El',
      ].join('\n'),
    );
    expect(body('- a\n- b: c')).toBe('.Bl -bullet -compact\n.It\na\n.It\nb: c\n.El');
    expect(body('1. a\n\n   b\n\n1. c')).toBe('.Bl -enum\n.It\na\n.Pp\nb\n.It\nc\n.El');
  });

  it('contains none of the private-use characters that the writer uses internally', () => {
    for (const [page, content] of mdocPages()) expect(content, page).not.toMatch(/\p{Co}/u);
  });

  it('rejects Markdown that it cannot convert', () => {
    expect(() => body('> quoted')).toThrow('no form for this Markdown: blockquote_open');
    expect(() => body('a | b\n--|--\n')).toThrow('no form for this Markdown: table_open');
    expect(() => body('#### deep')).toThrow('no headings of the level h4: deep');
    expect(() => body('a ![image](b)')).toThrow('no form for this Markdown: image');
    expect(() => body('[this](agentd-y.5.md)')).toThrow('has to begin with agentd-y(5): this');
    expect(() => readPage('text')).toThrow('does not begin with `# name(section) - summary`');
  });
});

describe('a generated page', () => {
  it('escapes markup, shows settings as code, and links pages', () => {
    expect(prose('The *_API_URL of <b>, or `a_b*` with JWT_VERIFY_EXP=false; see agentd-x(7).')).toBe(
      'The `*_API_URL` of \\<b>, or `a_b*` with `JWT_VERIFY_EXP=false`; see [agentd-x(7)](agentd-x.7.md).',
    );
  });

  it('shows the flags of an option', () => {
    expect(optionTerm('-n, --lines <n>')).toBe('`-n`, `--lines` *n*');
    expect(optionTerm('--json')).toBe('`--json`');
  });
});
