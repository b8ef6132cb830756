import { describe, expect, it } from 'vitest';
import { findHeadings, readPage } from '../../man/build/page.ts';
import { filesBelow, read } from './source-files.ts';

/** These files contain examples of broken references. */
const ABOUT_REFERENCES = ['test/rules/references.test.ts', 'test/rules/manual.test.ts'];

const texts = [
  ...['src', 'plugins', 'test', 'man', 'bin', 'config'].flatMap(filesBelow),
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
].filter((file) => /\.(ts|js|mjs|css|html|sql|md|yaml|json)$/.test(file) && !ABOUT_REFERENCES.includes(file));

/** The sections and subsections of each page, by its name, such as `agentd-message(7)`. */
const pages = new Map<string, string[]>(
  filesBelow('man')
    .filter((file) => file.endsWith('.md'))
    .map((file) => {
      const page = readPage(read(file));
      return [`${page.name}(${page.section})`, findHeadings(page).map(({ title }) => title)];
    }),
);

interface Reference {
  page: string;
  sections: string[];
}

/** `agentd-message(7)`, `agentd-message(7), "Reconnecting"`, `agentd-message(7), "Reconnecting" and "Many readers"`. */
const REFERENCE =
  /\b(agentd(?:-[a-z]+)*\(\d\))(?:\]\([^)\s]*\))?(?:, ("[^"]+"(?:,? and "[^"]+"|, "[^"]+" and "[^"]+")?))?/g;

function referencesIn(text: string): Reference[] {
  return [...inOneLine(text).matchAll(REFERENCE)].map(([, page = '', named = '']) => ({
    page,
    sections: [...named.matchAll(/"([^"]+)"/g)].map(([, title = '']) => title),
  }));
}

/** A reference may continue on the next line of a comment. */
function inOneLine(text: string): string {
  return text.replace(/\s*\n[ \t]*(?:\*(?!\/)|\/\/|#)?[ \t]*/g, ' ');
}

function leadsNowhere({ page, sections }: Reference): string[] {
  const titles = pages.get(page);
  if (titles === undefined) return [page];
  return sections.filter((title) => !titles.includes(title)).map((title) => `${page}, "${title}"`);
}

/** Names of documents that are not part of this repository. */
const ELSEWHERE =
  /\b(?:decisions|service|cli|architecture|performance|words|style)\.md\b|\bdecisions §\d+|(?<!dist\/)\bman\/agentd[a-z-]*\.\d(?!\.md)\b/gi;

describe('references to the manual', () => {
  it('lead to pages and sections that exist', () => {
    const wrong = texts.flatMap((file) =>
      referencesIn(read(file))
        .flatMap(leadsNowhere)
        .map((reference) => `${file}: ${reference}`),
    );
    expect(wrong).toEqual([]);
  });

  it('are found in comments, even across a line break', () => {
    const comment = ' * as in (agentd-message(7), "Many\n   * readers" and "The life\n   * of a stream").';
    expect(referencesIn(comment)).toEqual([
      { page: 'agentd-message(7)', sections: ['Many readers', 'The life of a stream'] },
    ]);
    expect(referencesIn('see [agentd(1)](man/agentd.1.md), "Files".').flatMap(leadsNowhere)).toEqual([]);
    expect(referencesIn('agentd-message(7), "Nowhere"; agentd-none(7)').flatMap(leadsNowhere)).toEqual([
      'agentd-message(7), "Nowhere"',
      'agentd-none(7)',
    ]);
    expect(texts.flatMap((file) => referencesIn(read(file))).length).toBeGreaterThan(200);
  });

  it('are the only references to documents of the project', () => {
    // These two documents may refer to documents elsewhere.
    const wrong = texts
      .filter((file) => file !== 'SECURITY.md' && file !== 'CHANGELOG.md')
      .flatMap((file) =>
        [...inOneLine(read(file)).matchAll(ELSEWHERE)].map(([found]) => `${file}: ${found}`),
      );
    expect(wrong).toEqual([]);
  });
});
