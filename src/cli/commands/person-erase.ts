import { EXAMPLE } from '../../../plugins/names.ts';
import {
  countRecords,
  FilesNotRewritten,
  listMemories,
  type PersonDesk,
  type PersonRecords,
} from '../../daemon/admin/records.ts';
import type { Store } from '../../daemon/admin/store.ts';
import { noteAudit, toMemoryOwner, type Who } from '../../daemon/admin/who.ts';
import { EXIT, failed } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { expectNamed, readOneWho, WHO_ARGUMENT, WHO_OPTIONS, whoInWords } from '../names/who.ts';
import { expectKnownUser, withPerson } from '../person-records.ts';
import { expectConsent } from '../terminal.ts';

/**
 * Maximum number of rounds. One round may not be enough, because messages can arrive during the erasure. After the last
 * round, the administrator must stop these messages.
 */
const ROUNDS = 3;

/** Copies that the store cannot reach. */
function notCovered({ maintenance }: Store): string[] {
  const copies = maintenance?.backup
    ? 'files that `agentd backup` wrote'
    : 'backups, standby servers and archived logs of the database server';
  return ['log files', copies];
}

export const command = defineCommand({
  description: [
    'Deletes everything that `agentd person show` shows, for good. Prints how many records of each kind there were. If nothing was stored, it says so, and the exit code is 1, because the id may be misspelled. On a terminal the command asks for confirmation; elsewhere it needs --yes. The line in the audit log names the person as an HMAC.',
    "Turns of other people in shared threads are kept, but the summaries of such a thread are made again. Messages that somebody wrote on a platform while not signed in belong to the platform's user: erase that user as well.",
    'Not covered: log files, files that `agentd backup` wrote, the disks of replicas of Redis, backups, standby servers and archived logs of Postgres, and data that platforms, agent runtimes and APIs store.',
  ].join('\n\n'),
  manual: [
    'Links, sessions and everything else are deleted in one step, so that a message that is being answered at that time cannot store its turn, its trace or the answer for its Idempotency-Key. For this purpose, the store keeps hashes of the erased sessions and messages for an hour. Open event streams of the person end within a second. If a message of the person arrives meanwhile, the command starts over; if that does not help, the exit code is 1. With Redis there are several steps: messages in the erased sessions wait until the last one. If the command is interrupted, run it again: it finds what is left.',
    'Then everything that has expired is deleted, too, and the file of the store is written again, so that neither its free space nor its write-ahead log contains the data. This also removes the stores that `agentd restore` replaced. Until the file is written, which takes seconds with a large store, the daemon answers 503. With Redis, the server rewrites its append-only file (`BGREWRITEAOF`) and its snapshot (`BGSAVE`) instead. With Postgres, the tables are written again (`VACUUM FULL`); the write-ahead log of the server still has the data until the server recycles it. If the server refuses, everything is deleted from the store, but the exit code is 1, and the message says what is left to do.',
  ].join('\n\n'),
  args: { ...WHO_ARGUMENT },
  options: { ...WHO_OPTIONS, '--yes': 'do not ask' },
  examples: {
    'agentd person erase --sub alice --yes': 'Deletes everything about a person.',
    [`agentd person erase ${EXAMPLE.channel}:${EXAMPLE.user} --yes`]:
      "Deletes everything about a platform's user.",
  },
  json: true,
  async run({ args, options, out }) {
    const who = expectNamed(await readOneWho(args, options));
    if (!options.yes)
      await expectConsent(`Delete everything that is stored about ${whoInWords(who)}, for good?`, {
        unasked: [
          'everything about a person would be deleted',
          'Pass --yes to delete it without being asked.',
        ],
        declined: 'nothing was deleted',
      });
    const { erased, not_covered } = await withPerson(who, options, async (desk) => {
      await expectKnownUser(who, options, desk);
      await noteAudit(desk.store, { command: 'person erase', who });
      return { erased: await eraseAll(who, desk), not_covered: notCovered(desk.store) };
    });
    out.data({ erased, not_covered }, () => formatErased(erased, who));
    out.note(`Not covered: ${not_covered.join(' and ')}. Delete the existing ones yourself.`);
    return Object.values(erased).some((count) => count > 0) ? EXIT.ok : EXIT.no;
  },
});

/** The result in words. If there was nothing to erase, it says so, because the id may be misspelled. */
function formatErased(erased: Readonly<Record<string, number>>, who: Who): string {
  const kinds = Object.entries(erased).filter(([, count]) => count > 0);
  if (kinds.length === 0) return `nothing was stored about ${whoInWords(who)}`;
  const counts = kinds.map(([kind, count]) => `${kind} ${count}`).join(', ');
  return `erased what was stored about ${whoInWords(who)}: ${counts}`;
}

/** Erases everything that is stored about a person or user. @returns how many records of each kind there were */
async function eraseAll(who: Who, desk: PersonDesk): Promise<Record<string, number>> {
  const { persons, selector, memories } = desk;
  const erased: Record<string, number> = {};
  const add = (kinds: Record<string, number>) => {
    for (const [kind, count] of Object.entries(kinds)) erased[kind] = (erased[kind] ?? 0) + count;
  };
  for (let round = 0; round < ROUNDS; round++) {
    // Memories are deleted first: if the store contains them, `eraseRecords` then also removes their bytes from its
    // files.
    add({ memories: (await memories?.forget(toMemoryOwner(who), 'all')) ?? 0 });
    add(countFound(await eraseRecords(desk)));
    const left = countRecords(await persons.show(selector)) + (await listMemories(who, desk)).length;
    if (left === 0) return erased;
  }
  throw failed(
    `new messages of ${whoInWords(who)} keep arriving during the erasure`,
    'Remove the links with `agentd link remove`, or stop the daemon, and run the command again.',
  );
}

async function eraseRecords({ persons, selector }: PersonDesk): Promise<PersonRecords> {
  try {
    return await persons.erase(selector);
  } catch (error) {
    if (!(error instanceof FilesNotRewritten)) throw error;
    throw failed(
      `everything is deleted, but files of the store may still contain parts of it: ${error.message}`,
      error.advice,
    );
  }
}

function countFound({ sessions, links, actions, inbox, others }: PersonRecords): Record<string, number> {
  return {
    sessions: sessions.length,
    turns: sessions.reduce((sum, { turns }) => sum + turns.length, 0),
    links: links.length,
    actions: actions.length,
    inbox: inbox.length,
    ...others,
  };
}
