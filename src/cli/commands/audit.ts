import type { AuditLine } from '../../daemon/admin/store.ts';
import { hashPerson } from '../../daemon/admin/who.ts';
import { defineCommand } from '../command.ts';
import { limitOption, sinceIn, sinceOption } from '../names/list-options.ts';
import { expectKnownUser, readOneWho, WHO_ARGUMENT, WHO_OPTIONS } from '../names/who.ts';
import { type Column, WIDE_OPTION } from '../output.ts';
import { printStored, withStore } from '../with-store.ts';

/** Length of the beginning of an HMAC that tells people apart in a table. */
const HMAC_SHOWN = 8;

const COLUMNS: readonly Column<AuditLine>[] = [
  { title: 'WHEN', json: 'at', isTime: true },
  { title: 'USER', json: 'user' },
  { title: 'COMMAND', json: 'command' },
  { title: 'ABOUT', json: 'about', narrow: 'wrap' },
  { title: 'PERSON', json: 'person', short: ({ person }) => person?.slice(0, HMAC_SHOWN) },
];

/** Maximum number of lines that are read to find the lines about one person. */
const READ_MAX = 10_000;

const LIMIT = limitOption('lines', { max: READ_MAX, usual: 100 });

export const command = defineCommand({
  description:
    "These commands add a line: `link`, `link remove`, `sessions end`, `guard reset`, `inbox retry` and `discard`, `person show` and `erase`, `feedback show`, `memory forget`, `tools trust` and `call`, `keys rotate` and `remove`, `reload`, `replay`, `eval add`, `restore`. A line names the account on the machine (the operating system's user), the time and the command. The person whom a line is about is shown only as an HMAC (its beginning, unless `--wide` is given), so the list does not reveal them; to find the lines about a person, give their id or claims. Lines are kept for 400 days. `restore` also replaces the audit log with the audit log of the backup.",
  args: { ...WHO_ARGUMENT },
  options: { ...sinceOption('only newer lines'), ...LIMIT.record, ...WHO_OPTIONS, ...WIDE_OPTION },
  examples: {
    'agentd audit --since 7d': 'Shows the lines of the last week.',
    'agentd audit --sub user-4711 --json': 'Prints the lines about one person as a JSON array.',
  },
  json: true,
  async run({ args, options, out }) {
    const limit = LIMIT.read(options);
    const since = sinceIn(options);
    const who = await readOneWho(args, options);
    const read = () =>
      withStore(options, async ({ audit }) => {
        if (who === null) return audit.list({ ...since, limit: limit + 1 });
        const person = hashPerson(who, await audit.key());
        const lines = await audit.list({ ...since, limit: READ_MAX });
        return lines.filter((line) => line.person === person).slice(0, limit + 1);
      });
    const expect = () => expectKnownUser(who, options);
    await printStored(out, COLUMNS, { none: 'No line found.', limit, expect, read });
  },
});
