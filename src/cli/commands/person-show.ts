import { EXAMPLE } from '../../../plugins/names.ts';
import { listMemories } from '../../daemon/admin/records.ts';
import { noteAudit } from '../../daemon/admin/who.ts';
import { defineCommand } from '../command.ts';
import { expectNamed, readOneWho, WHO_ARGUMENT, WHO_OPTIONS } from '../names/who.ts';
import { jsonText } from '../output.ts';
import { expectKnownUser, recordsView, withPerson } from '../person-records.ts';
import { summarizePerson } from '../views/person-summary.ts';

export const command = defineCommand({
  description:
    "On a terminal, shows what is stored as tables: the first 10 records of each kind, and how many there are. Otherwise, and with --json, prints one JSON document: `sessions` with the turns of the person, `links`, `memories`, `actions`, and the messages of the `inbox`. The outcome of an action that was never sent is `pending` (the person was asked to confirm it), `declined`, `withdrawn` (the question no longer applied) or `expired`; the other outcomes are those of `agentd actions list`. `others` has only counts: of summaries, traces, streams, answers of idempotency keys, known message ids, and records of the loop guard, the rate limits, the token budgets, the codes that connect a chat, the recordings of runs, ratings of answers, and questions that wait for sign-in; those of an anonymous web client that later signed in as the person are included. A session is `shared` if other people wrote in it too: their turns, their sign-ins and their ids are not shown. A person is somebody who signed in; identify them by the claims of their token (--sub, --iss, --tenant). Messages that somebody wrote on a platform while not signed in belong to the platform's user: show that user as well; `links` names the user. Tokens are never shown. The command adds a line to the audit log. Works whether the daemon is running or not. With Redis the whole key space is read.",
  args: { ...WHO_ARGUMENT },
  options: WHO_OPTIONS,
  examples: {
    'agentd person show --sub alice': 'Shows what is stored about a person.',
    [`agentd person show ${EXAMPLE.channel}:${EXAMPLE.user}`]:
      "Shows what is stored about a platform's user.",
  },
  json: true,
  async run({ args, options, out }) {
    const who = expectNamed(await readOneWho(args, options));
    const { found, summary } = await withPerson(who, options, async (desk) => {
      await expectKnownUser(who, options, desk);
      await noteAudit(desk.store, { command: 'person show', who });
      const records = await desk.persons.show(desk.selector);
      const memories = await listMemories(who, desk);
      const isShort = !out.json && Number.isFinite(out.width);
      return {
        found: recordsView(records, memories, desk),
        summary: isShort ? await summarizePerson(out, who, records, memories, desk) : null,
      };
    });
    out.data(found, () => summary ?? jsonText(found));
  },
});
