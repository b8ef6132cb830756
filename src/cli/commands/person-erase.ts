import { EXAMPLE } from '../../../plugins/names.ts';
import { countRecords, FilesNotRewritten, type PersonRecords } from '../../daemon/store/persons.ts';
import { failed, usageError } from '../cli-error.ts';
import type { Command } from '../command.ts';
import { confirm } from '../confirm.ts';
import { EXIT } from '../exit-codes.ts';
import { expectWho } from '../expect-who.ts';
import { noteAudit } from '../note-audit.ts';
import { memoriesOf, type PersonDesk, withPerson } from '../person-records.ts';
import { WHO_ARGUMENT, WHO_OPTIONS, type Who, whoInWords } from '../who.ts';
import { ownerOf } from '../with-memories.ts';

/** Messages may arrive during the erasure; after so many rounds it is for the administrator to stop them. */
const ROUNDS = 3;

const NOT_COVERED = ['log files', 'files that `agentd backup` wrote'];

export const command: Command = {
  name: 'person erase',
  summary: 'Delete everything that is stored of a person.',
  description:
    "Deletes what `agentd person show` shows, at once and for good: the links and sessions, so that a message that is being answered stores nothing, and in the same step everything else. Turns of other people in shared threads stay; the summaries of such a thread are made anew. Then the file of the store is written again, so that no free space, log or copy contains the data: the backups that were made before a migration and `agentd.db.before-restore` are removed. Until the file is written, which takes seconds with a large store, the daemon answers 503. The command asks on a terminal, and needs --yes elsewhere. If a message of the person arrives meanwhile, the command begins anew, and ends with exit code 1 if that does not help. A message that is being answered meanwhile leaves neither its turn nor its trace nor the answer of its Idempotency-Key; for an hour the store holds hashes of the erased sessions and messages for that. With Redis, the log of writes (`BGREWRITEAOF`) and the snapshot (`BGSAVE`) of the server are written again instead; if the server refuses, everything is deleted, the exit code is 1, and the message says what is left to do. Not covered: log files, files that `agentd backup` wrote, the disks of replicas of Redis, and what platforms, agent runtimes and APIs store. The line in the audit log names the person as an HMAC. Messages that somebody wrote on a platform without sign-in belong to the platform's user: erase that user as well.",
  args: [WHO_ARGUMENT],
  options: [...WHO_OPTIONS, { flags: '--yes', sentence: 'do not ask' }],
  examples: [
    { line: 'agentd person erase --sub alice --yes', does: 'Deletes everything of a person.' },
    {
      line: `agentd person erase ${EXAMPLE.channel}:${EXAMPLE.user} --yes`,
      does: "Deletes everything of a platform's user.",
    },
  ],
  json: true,
  async run({ args, options, out }) {
    const { who } = await expectWho(args, options);
    await expectConsent(who, options.yes === true);
    const erased = await withPerson(who, options, async (desk) => {
      await noteAudit(desk.store, { command: 'person erase', who });
      return eraseAll(who, desk);
    });
    out.data({ erased, not_covered: NOT_COVERED }, () => `erased what was stored of ${whoInWords(who)}`);
    out.note(`Not covered: ${NOT_COVERED.join(' and ')}. Delete those that are older than now yourself.`);
    return EXIT.ok;
  },
};

async function expectConsent(who: Who, isGiven: boolean): Promise<void> {
  if (isGiven) return;
  const answer = await confirm(`Delete everything that is stored of ${whoInWords(who)}, for good?`);
  if (answer === null)
    throw usageError(
      'everything of a person would be deleted',
      'Pass --yes to delete it without a question.',
    );
  if (!answer) throw failed('nothing was deleted');
}

/** @returns how many records of each kind there were. */
async function eraseAll(who: Who, desk: PersonDesk): Promise<Record<string, number>> {
  const { persons, selector, memories } = desk;
  const erased: Record<string, number> = {};
  const add = (kinds: Record<string, number>) => {
    for (const [kind, count] of Object.entries(kinds)) erased[kind] = (erased[kind] ?? 0) + count;
  };
  for (let round = 0; round < ROUNDS; round++) {
    // Before the rest: its bytes leave the files of the store with it.
    add({ memories: (await memories?.forget(ownerOf(who), 'all')) ?? 0 });
    add(countsOf(await eraseRecords(desk)));
    const left = countRecords(await persons.show(selector)) + (await memoriesOf(who, desk)).length;
    if (left === 0) return erased;
  }
  throw failed(
    `messages of ${whoInWords(who)} arrive while they are erased`,
    'Remove the links with `agentd link remove`, or stop the daemon, and run the command again.',
  );
}

async function eraseRecords({ persons, selector }: PersonDesk): Promise<PersonRecords> {
  try {
    return await persons.erase(selector);
  } catch (error) {
    if (!(error instanceof FilesNotRewritten)) throw error;
    throw failed(
      `everything is deleted, but files of the store may still hold bytes of it: ${error.message}`,
      'Let the server write its files again: `redis-cli BGREWRITEAOF` if it keeps a log, `redis-cli BGSAVE` if it makes snapshots.',
    );
  }
}

function countsOf({ sessions, links, actions, inbox, others }: PersonRecords): Record<string, number> {
  return {
    sessions: sessions.length,
    turns: sessions.reduce((sum, { turns }) => sum + turns.length, 0),
    links: links.length,
    actions: actions.length,
    inbox: inbox.length,
    ...others,
  };
}
