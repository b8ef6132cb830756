import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { makeCase, readCases } from '../../daemon/admin/eval.ts';
import { readConfiguration } from '../../daemon/admin/settings.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { failed, usageError } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { configLocation } from '../config-location.ts';
import type { Column } from '../output.ts';
import { readRecording } from '../recorded-run.ts';

interface Shown {
  kind: string;
  value: string;
  placeholder: string;
}

const COLUMNS: readonly Column<Shown>[] = [
  { title: 'KIND', json: 'kind' },
  { title: 'REPLACED', json: 'value', narrow: 'cut' },
  { title: 'BY', json: 'placeholder' },
];

export const command = defineCommand({
  description: [
    'Makes a case of `agentd eval` of the recording of a message (RECORD_RUNS), and adds it to FILE, which only you can read (mode 0600); without FILE, the case is printed. The case has the message, what was said before, and each call with its result.',
    'It has no data of people: every value of a claim, id of a platform, e-mail address, date, time and number, and every string of a result with 4 characters or more, is replaced by a placeholder, the same one throughout. The command shows what it has replaced, and adds nothing if such a value is left. Names that occur only in the words of a person are not recognized, so read the case before you share it.',
    'ID is the id of a message with or without its channel, of a turn or of a request, as `agentd explain` shows it. The command adds a line to the audit log.',
  ].join('\n\n'),
  args: {
    '<id>': 'id of a message, a turn or a request',
    '[file]': { sentence: 'file of cases; it is made if it is missing', values: 'file' },
  },
  examples: {
    'agentd eval add 0198f1c2-7d1e-7a55-9c1b-1f7f0a2b3c4d orders.yaml': 'Adds a case to a file.',
    'agentd eval add "$ID"': 'Prints the case.',
  },
  json: true,
  async run({ args: [id = '', file], options, out }) {
    const { settings } = await readConfiguration(configLocation(options));
    const kept = file === undefined ? '' : await readContent(file);
    const { cases, problems } = await readCases(file ?? '', kept);
    if (problems.length > 0)
      throw usageError(
        `${printable(file ?? '')} is not a file of cases: ${printable(problems.map(({ problem }) => problem).join('; '))}`,
        'See `agentd config schema eval`.',
      );
    const { recording, recorded } = await readRecording(id, { settings, command: 'eval add', options });
    const made = await makeCase(recording, recorded, new Set(cases.map(({ name }) => name)));
    if (made.left.length > 0)
      throw failed(
        `nothing was added: ${made.left.length} values could not be replaced`,
        `They are: ${printable(made.left.join(', '))}. Write the case by hand.`,
      );
    if (file !== undefined) await addToFile(file, kept, made.yaml);
    const shown = { file: file ?? null, name: made.name, case: made.yaml, replaced: made.replaced };
    out.data(shown, () => (file === undefined ? made.yaml : out.table(COLUMNS, made.replaced)));
    if (out.json) return undefined;
    if (file === undefined) out.note(out.table(COLUMNS, made.replaced));
    for (const note of made.notes) out.note(`The case does not have ${note}.`);
    out.note(
      file === undefined
        ? 'Say under `expect` what the reply should be.'
        : `Added to ${file}: \`${made.name}\`. Say under \`expect\` what the reply should be.`,
    );
    return undefined;
  },
});

async function readContent(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw usageError(`${printable(file)} cannot be read: ${(cause as Error).message}`, 'Pass another path.', {
      cause,
    });
  }
}

/**
 * Adds cases to the content of a file. Afterward only the owner can read the file. It is replaced as a whole: a crash
 * leaves the old file or the new one.
 */
async function addToFile(file: string, kept: string, yaml: string): Promise<void> {
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
    const { message } = cause as Error;
    throw usageError(`${printable(file)} cannot be written: ${message}`, 'Pass another path.', { cause });
  }
}
