import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { createProblem, type SettingProblem } from './problem.ts';
import type { Layer } from './sources.ts';

export const DEFAULT_ENV_FILE = '.env';
const ENV_FILE_MAX_BYTES = 1_048_576;
const RIGHT_ENV_FILE = 'lines of the form NAME=value, at most 1 MiB';

/**
 * The settings of the named file, which must exist, or of `.env` in the working directory if it exists. Any line other
 * than NAME=value, a blank line or a comment is a problem, reported with its number.
 */
export async function readEnvFile(
  cwd: string,
  named: string | undefined,
): Promise<{ layer: Layer | null; problems: SettingProblem[] }> {
  const source = named ?? DEFAULT_ENV_FILE;
  const path = resolve(cwd, source);
  const refuse = (problem: string, right = RIGHT_ENV_FILE) => ({
    layer: null,
    problems: [createProblem(source, problem, right)],
  });

  let text: string;
  try {
    if ((await stat(path)).size > ENV_FILE_MAX_BYTES) return refuse('is larger than 1 MiB');
    text = (await readFile(path, 'utf8')).replace(/^\u{feff}/u, '').replaceAll('\r\n', '\n');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && named === undefined) return { layer: null, problems: [] };
    return refuse(`cannot be read (${code})`, `the path of a readable file, relative to ${cwd}`);
  }
  return {
    layer: { source, path, kind: 'env-file', values: new Map(Object.entries(parseEnv(text))) },
    problems: strayLines(text).map((line) =>
      createProblem(`${source}:${line}`, 'is neither NAME=value, nor a comment, nor blank', RIGHT_ENV_FILE),
    ),
  };
}

/**
 * The numbers of lines that `parseEnv` would silently skip. The lines are not quoted, because they may contain secrets.
 */
function strayLines(text: string): number[] {
  const stray: number[] = [];
  let openQuote: string | null = null;
  for (const [index, line] of text.split('\n').entries()) {
    if (openQuote !== null) {
      if (line.includes(openQuote)) openQuote = null;
      continue;
    }
    if (/^\s*(#|$)/.test(line)) continue;
    const value = /^\s*(?:export\s+)?[\w.-]+\s*=\s*(.*)$/.exec(line)?.[1];
    if (value === undefined) {
      stray.push(index + 1);
      continue;
    }
    const quote = /^["'`]/.exec(value)?.[0];
    if (quote !== undefined && !value.slice(1).includes(quote)) openQuote = quote;
  }
  return stray;
}
