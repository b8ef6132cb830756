import type { Dialect } from './dialect.ts';

/**
 * Plain text, for platforms without markup: words without marks, lists with hyphens, code and tables as lines, links
 * as label and address. For a platform with a limit: `{ ...PLAIN, limit: 160 }`.
 */
export const PLAIN: Dialect = {
  limit: Number.MAX_SAFE_INTEGER,
  marksCount: true,
  escapes: {},
  lookalikes: {},
  strong: {},
  emphasis: {},
  delete: {},
  code: {},
  codeBlock: () => ({}),
  quote: { prefix: '> ' },
  link: () => null,
  bullets: ['-'],
  tables: 'lines',
};
