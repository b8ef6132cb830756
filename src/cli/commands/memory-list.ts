import { EXAMPLE } from '../../../plugins/names.ts';
import { toMemoryOwner } from '../../daemon/admin/who.ts';
import { defineCommand } from '../command.ts';
import {
  expectKnownUser,
  expectNamed,
  readOneWho,
  WHO_ARGUMENT,
  WHO_OPTIONS,
  whoInWords,
} from '../names/who.ts';
import { withShortIds } from '../names/whole-id.ts';
import { WIDE_OPTION } from '../output.ts';
import { MEMORY_COLUMNS } from '../views/memory-view.ts';
import { printStored, withMemories } from '../with-store.ts';

export const command = defineCommand({
  description:
    'Shows each memory with the time when it was stored. `elsewhere` marks a memory from a run in which a tool returned data from an origin other than that of API_BASE_URL. The agent gets such a memory only by searching for it. With --json, also the turn that stored it, for `agentd explain`. Works whether the daemon is running or not.',
  args: { ...WHO_ARGUMENT },
  options: { ...WHO_OPTIONS, ...WIDE_OPTION },
  examples: {
    'agentd memory list --sub alice': 'Shows the memories of a person.',
    [`agentd memory list ${EXAMPLE.channel}:${EXAMPLE.user} --json`]:
      "Prints the memories of a platform's user as a JSON array.",
  },
  json: true,
  async run({ args, options, out }) {
    const who = expectNamed(await readOneWho(args, options));
    const none = `Nothing is remembered about ${whoInWords(who)}.`;
    const read = () =>
      withMemories(options, (memories) => memories.list(toMemoryOwner(who)).then(withShortIds));
    await printStored(out, MEMORY_COLUMNS, { none, expect: () => expectKnownUser(who, options), read });
  },
});
