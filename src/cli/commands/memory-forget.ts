import { EXAMPLE } from '../../../plugins/names.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { noteAudit, toMemoryOwner, type Who } from '../../daemon/admin/who.ts';
import { type CliError, failed, usageError } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import {
  expectKnownUser,
  expectNamed,
  readWho,
  WHO_ARGUMENT,
  WHO_OPTIONS,
  whoInWords,
} from '../names/who.ts';
import { idIn } from '../names/whole-id.ts';
import { expectConsent } from '../terminal.ts';
import { withMemories, withStore } from '../with-store.ts';

export const command = defineCommand({
  description:
    'Deletes the memory with this id, or all memories if no id is given. Before it deletes all, the command asks for confirmation on a terminal; elsewhere it needs --yes. Takes effect at once, even while the daemon runs. Exit code 1 if there is no such memory, or if nothing is remembered.',
  args: { ...WHO_ARGUMENT, '[id]': 'id of one memory, as `agentd memory list` shows it' },
  options: { ...WHO_OPTIONS, '--yes': 'do not ask before all memories are deleted' },
  examples: {
    'agentd memory forget --sub alice 0198f1c2-7d1e-7a55-9c1b-1f7f0a2b3c4d':
      'Deletes one memory of a person.',
    [`agentd memory forget ${EXAMPLE.channel}:${EXAMPLE.user} --yes`]:
      "Deletes all memories of a platform's user.",
  },
  json: true,
  async run({ args, options, out }) {
    const { who: named, rest } = await readWho(args, options);
    const who = expectNamed(named);
    const [id, ...more] = rest;
    if (more.length > 0) throw usageError('memory forget takes one id at most', 'Call it once for each id.');
    const forgotten = await withMemories(options, async (memories) => {
      const owned = await memories.list(toMemoryOwner(who));
      const ids = owned.map(({ memory_id }) => memory_id);
      const meant = id === undefined ? ids : [idIn(ids, id)].filter((one) => one !== null);
      if (meant.length === 0) {
        await expectKnownUser(who, options);
        throw nothingFound(who, id);
      }
      if (id === undefined && !options.yes)
        await expectConsent(`Delete ${meant.length} ${memoryWord(meant.length)} of ${whoInWords(who)}?`, {
          unasked: ['all memories would be deleted', 'Pass --yes to delete them without being asked.'],
          declined: 'nothing was deleted',
        });
      await withStore(options, (store) =>
        noteAudit(store, {
          command: 'memory forget',
          about: id === undefined ? 'all' : (meant[0] ?? id),
          who,
        }),
      );
      return memories.forget(toMemoryOwner(who), id === undefined ? 'all' : meant);
    });
    const inWords =
      id === undefined ? `${forgotten} ${memoryWord(forgotten)}` : `the memory ${printable(id)}`;
    out.data({ forgotten }, () => `deleted ${inWords} of ${whoInWords(who)}`);
  },
});

function nothingFound(who: Who, id: string | undefined): CliError {
  if (id === undefined) return failed(`nothing is remembered about ${whoInWords(who)}`);
  return failed(
    `there is no memory ${printable(id)} of ${whoInWords(who)}`,
    'List the memories with `agentd memory list`.',
  );
}

function memoryWord(count: number): string {
  return count === 1 ? 'memory' : 'memories';
}
