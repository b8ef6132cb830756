import { EXAMPLE } from '../../../plugins/names.ts';
import { toMemoryOwner } from '../../daemon/admin/who.ts';
import { usageError } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { limitOption } from '../names/list-options.ts';
import {
  expectKnownUser,
  expectNamed,
  readWho,
  WHO_ARGUMENT,
  WHO_OPTIONS,
  whoInWords,
} from '../names/who.ts';
import { WIDE_OPTION } from '../output.ts';
import { type ListedMemory, MEMORY_COLUMNS } from '../views/memory-view.ts';
import { printStored, withMemories } from '../with-store.ts';

const LIMIT = limitOption('memories', { max: 500, usual: 20 });

export const command = defineCommand({
  description:
    'Searches as the agent does: a memory matches if it contains one of the words, regardless of case and ending; rarer words count more. With --sub, there is no WHO argument, so all words are the query. A search does not count as a use of a memory. Works whether the daemon is running or not.',
  args: { ...WHO_ARGUMENT, '[query...]': 'words to look for' },
  options: { ...WHO_OPTIONS, ...LIMIT.record, ...WIDE_OPTION },
  examples: {
    "agentd memory search --sub alice 'green tea'": 'Searches the memories of a person.',
    [`agentd memory search ${EXAMPLE.channel}:${EXAMPLE.user} tea`]:
      "Searches the memories of a platform's user.",
  },
  json: true,
  async run({ args, options, out }) {
    const limit = LIMIT.read(options);
    const { who: named, rest } = await readWho(args, options);
    const who = expectNamed(named);
    const text = rest.join(' ');
    if (text.trim() === '')
      throw usageError('memory search takes words to look for', 'Try `agentd memory search --help`.');
    const none = `No memory of ${whoInWords(who)} has any of these words.`;
    const search = { text, words: 'some', limit: limit + 1 } as const;
    const read = () => withMemories(options, (memories) => memories.search(toMemoryOwner(who), search));
    await printStored<ListedMemory>(out, MEMORY_COLUMNS, {
      none,
      limit,
      expect: () => expectKnownUser(who, options),
      read,
    });
  },
});
