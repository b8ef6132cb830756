import { noteAudit } from '../../daemon/admin/who.ts';
import { failed } from '../cli-error.ts';
import { defineCommand } from '../command.ts';
import { findInboxMessage, stateInWords } from '../views/inbox-view.ts';
import { withStore } from '../with-store.ts';

export const command = defineCommand({
  description:
    'Deletes a message in any state, at once and without confirmation. If it is being answered, the reply is not sent. If it is answered together with other messages (COLLECT_MS), they are deleted, too. Later messages of its session continue. If the platform repeats the message, it is still recognized as a repeat. The traces of the message are kept for `agentd explain`. ID is as for `agentd inbox show`. Exit code 1 if there is no such message, or if the id matches several.',
  args: { '<id>': 'id of the message' },
  examples: { 'agentd inbox discard 0198f1c2-7d1e-7a55-9c1b-1f7f0a2b3c4d': 'Deletes one message.' },
  json: true,
  async run({ args: [id = ''], options, out }) {
    const message = await withStore(options, async (store) => {
      const { inbox } = store;
      const found = await findInboxMessage(store, id, options);
      await noteAudit(store, { command: 'inbox discard', about: found.id });
      if (await inbox.discard(found.id)) return found;
      throw failed(`the message ${found.id} has been deleted already`);
    });
    const view = { id: message.id, discarded: true };
    out.data(view, () => `discarded ${message.id} (last state: ${stateInWords(message)})`);
  },
});
