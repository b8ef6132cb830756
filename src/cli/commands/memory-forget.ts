import { EXAMPLE } from '../../../plugins/names.ts';
import { printable } from '../../daemon/printable.ts';
import type { MemoryStore } from '../../daemon/store/memories.ts';
import { failed, usageError } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { confirm } from '../confirm.ts';
import { EXIT } from '../exit-codes.ts';
import { expectWho } from '../expect-who.ts';
import { WHO_ARGUMENT, WHO_OPTIONS, type Who, whoInWords } from '../who.ts';
import { ownerOf, withMemories } from '../with-memories.ts';

export const command: Command = {
  name: 'memory forget',
  summary: 'Delete one memory of somebody, or all.',
  description:
    'Deletes the memory with this id, or all memories if no id is given: then the command asks on a terminal, and needs --yes elsewhere. Takes effect at once, also while the daemon runs. Exit code 1 if there is no such memory, or if nothing is remembered.',
  args: [WHO_ARGUMENT, { name: 'id', sentence: 'id of one memory, as `agentd memory list` shows it' }],
  options: [...WHO_OPTIONS, { flags: '--yes', sentence: 'do not ask before all memories are deleted' }],
  examples: [
    {
      line: 'agentd memory forget --sub alice 0198f1c2-7d1e-7a55-9c1b-1f7f0a2b3c4d',
      does: 'Deletes one memory of a person.',
    },
    {
      line: `agentd memory forget ${EXAMPLE.channel}:${EXAMPLE.user} --yes`,
      does: "Deletes all memories of a platform's user.",
    },
  ],
  json: true,
  async run({ args, options, out }) {
    const {
      who,
      rest: [id, ...more],
    } = await expectWho(args, options);
    if (more.length > 0) throw usageError('memory forget takes one id at most', 'Call it once for each id.');
    const forgotten = await withMemories(options, (memories) =>
      id === undefined ? forgetAll(memories, who, options.yes === true) : forgetOne(memories, who, id),
    );
    const inWords =
      id === undefined ? `${forgotten} ${memoryWord(forgotten)}` : `the memory ${printable(id)}`;
    out.data({ forgotten }, () => `deleted ${inWords} of ${whoInWords(who)}`);
    return EXIT.ok;
  },
};

async function forgetOne(memories: MemoryStore, who: Who, id: string): Promise<number> {
  const forgotten = await memories.forget(ownerOf(who), [id]);
  if (forgotten > 0) return forgotten;
  throw failed(
    `there is no memory ${printable(id)} of ${whoInWords(who)}`,
    'List the memories with `agentd memory list`.',
  );
}

async function forgetAll(memories: MemoryStore, who: Who, isConfirmed: boolean): Promise<number> {
  const count = (await memories.list(ownerOf(who))).length;
  if (count === 0) throw failed(`nothing is remembered of ${whoInWords(who)}`);
  if (!isConfirmed) {
    const answer = await confirm(`Delete ${count} ${memoryWord(count)} of ${whoInWords(who)}?`);
    if (answer === null)
      throw usageError('all memories would be deleted', 'Pass --yes to delete them without a question.');
    if (!answer) throw failed('nothing was deleted');
  }
  return memories.forget(ownerOf(who), 'all');
}

function memoryWord(count: number): string {
  return count === 1 ? 'memory' : 'memories';
}
