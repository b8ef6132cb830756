import type { Dialect } from './dialect.ts';

/**
 * Plain text, for platforms that render nothing: the words without their marks, lists with hyphens, code and
 * tables as lines, a link as its label with the address behind it. For a platform with a limit:
 * `{ ...PLAIN, limit: 160 }`.
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
