import { readFile, stat } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { misconfigured } from '../settings/problem.ts';

const MAX_BYTES = 65_536;

/**
 * The operator's instructions from `AGENT_INSTRUCTIONS`: the text itself, or the content of the file that it names
 * (relative to the working directory). Undefined if there are none. A value that looks like a path but names no file is
 * a configuration error: otherwise the prompt would consist of the path, such as `/etc/agentd/prompt.md`.
 */
export async function loadInstructions(value: string | undefined): Promise<string | undefined> {
  if (value === undefined || value.trim() === '') return undefined;
  const text = value.trim();
  if (text.includes('\n') || text.length > 1024) return limitSize(text);
  const path = resolve(text);
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'EINVAL'].includes(error.code ?? '')) return null;
    throw misconfigured(
      'AGENT_INSTRUCTIONS',
      `names ${path}, which cannot be read: ${error.message}`,
      'a text, or a readable text file',
    );
  });
  if (found?.isFile()) {
    if (found.size > MAX_BYTES) throw tooLong();
    return (await readFile(path, 'utf8')).trim();
  }
  if (looksLikePath(text)) {
    throw misconfigured(
      'AGENT_INSTRUCTIONS',
      `names ${path}, but there is no such file`,
      'a text, or the path of a text file',
    );
  }
  return limitSize(text);
}

export function looksLikePath(text: string): boolean {
  return !/\s/.test(text) && (isAbsolute(text) || /^\.{1,2}\//.test(text) || /\.(?:md|txt)$/i.test(text));
}

function limitSize(text: string): string {
  if (Buffer.byteLength(text) > MAX_BYTES) throw tooLong();
  return text;
}

function tooLong(): Error {
  return misconfigured('AGENT_INSTRUCTIONS', 'is too long', `at most ${MAX_BYTES} bytes of text`);
}
