import { randomUUID } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { printable } from '../../daemon/admin/texts.ts';
import { usageError } from '../cli-error.ts';

/**
 * Adds cases to the content of a file. Afterward only the owner can read the file. It is replaced as a whole: a crash
 * leaves the old file or the new one.
 */
export async function addToFile(file: string, kept: string, yaml: string): Promise<void> {
  const before = kept === '' || kept.endsWith('\n') ? kept : `${kept}\n`;
  const temporary = join(dirname(file), `.${basename(file)}.${randomUUID()}`);
  try {
    await writeFile(temporary, `${before}${before.trim() === '' ? '' : '\n'}${yaml}`, {
      mode: 0o600,
      flag: 'wx',
    });
    await rename(temporary, file);
  } catch (cause) {
    await rm(temporary, { force: true });
    throw usageError(
      `${printable(file)} cannot be written: ${(cause as Error).message}`,
      'Pass another path.',
      {
        cause,
      },
    );
  }
}
