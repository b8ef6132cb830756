import { shortId } from '../../daemon/admin/records.ts';
import { printable } from '../../daemon/admin/texts.ts';
import { noteAudit } from '../../daemon/admin/who.ts';
import { defineCommand } from '../command.ts';
import { wholeSessionId } from '../names/whole-id.ts';
import { sessionNotFound } from '../views/session-view.ts';
import { withStore } from '../with-store.ts';

export const command = defineCommand({
  description:
    'The stored token is deleted, too. A message that is being answered is still answered; the next message creates the session again. The traces are kept for `agentd explain`. Exit code 1 if there is no such session.',
  args: { '<id>': 'id of the session' },
  examples: { 'agentd sessions end "$SESSION_ID"': 'Ends one session at once.' },
  json: true,
  async run({ args: [id = ''], options, out }) {
    const ended = await withStore(options, async (store) => {
      const session_id = await wholeSessionId(store, id, options);
      if ((await store.sessions.find(session_id)) === null) return null;
      await noteAudit(store, { command: 'sessions end', about: shortId(session_id) });
      return (await store.sessions.end(session_id)) ? session_id : null;
    });
    if (ended === null) throw sessionNotFound(id);
    out.data({ session_id: ended, ended: true }, () => `ended ${printable(ended)}`);
  },
});
