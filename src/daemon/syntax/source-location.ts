import { fileURLToPath } from 'node:url';

/** The daemon's own code, whether run from the sources or from the build. It does not include the bundled channels. */
const OWN_CODE = fileURLToPath(new URL('../../', import.meta.url));
/** Node writes the location of a syntax error above the stack. */
const HEADING = /^((?:file:\/\/)?\/[^\n]*):(\d+)\n/;
const FRAME = /^ *at (?:.*?\()?(?:async )?((?:file:\/\/)?\/[^\n()]*):(\d+):\d+\)?$/gm;

/**
 * The file and line that an error comes from, as `/path/file.ts:3`, for errors of plugins and runtimes: the innermost
 * location in their own code or, if there is none, in a package that they use, but never in the daemon itself.
 * @returns null if the error does not say.
 */
export function sourceLocation(error: unknown): string | null {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const heading = HEADING.exec(stack);
  if (heading) return `${toPath(heading[1] ?? '')}:${heading[2]}`;
  const frames = [...stack.matchAll(FRAME)]
    .map(([, file = '', line]) => ({ file: toPath(file), line }))
    .filter(({ file }) => !file.startsWith(OWN_CODE));
  const frame = frames.find(({ file }) => !file.includes('/node_modules/')) ?? frames[0];
  return frame === undefined ? null : `${frame.file}:${frame.line}`;
}

/** What was thrown and where, on one line: `TypeError: x is not a function (at /path/file.ts:3)`. */
export function describeThrown(error: unknown, location: string | null = sourceLocation(error)): string {
  const at = location === null ? '' : ` (at ${location})`;
  if (!(error instanceof Error)) return `it threw ${JSON.stringify(error) ?? String(error)}${at}`;
  const [message = ''] = error.message.split('\n', 1);
  const name = error.name === 'Error' || message.startsWith(error.name) ? '' : `${error.name}: `;
  return `${name}${message}${at}`;
}

function toPath(file: string): string {
  // The query is removed. It only makes Node load a file again.
  return file.startsWith('file://') ? fileURLToPath(file.replace(/[?#].*$/, '')) : file;
}
