import { randomSuffix } from '../../daemon/clock.ts';
import type { PersonKey } from '../../daemon/identity/identity.ts';
import { openAdministratorSeal } from '../../daemon/identity/open-seal.ts';
import { summaryOf } from '../../daemon/journal/summary-of.ts';
import { maskTokens } from '../../daemon/secret.ts';
import type { Settings } from '../../daemon/settings/settings.ts';
import type { Store } from '../../daemon/store/store.ts';
import { closeActionText } from '../../daemon/tools/action-texts.ts';
import type { CallJournal } from '../../daemon/tools/call-journal.ts';
import { misconfigured } from '../cli-error.ts';
import { noteAudit, systemUser } from '../note-audit.ts';

/**
 * The journal of a call that an operator makes. The call is recorded with the name of the system user. It never counts
 * as a repeat of an earlier call.
 * @param person the person for whom the call acts; null if nobody is signed in
 * @throws CliError (78) if the key that seals the records is not known here.
 */
export async function operatorJournal(
  store: Store,
  settings: Settings,
  person: PersonKey | null,
): Promise<CallJournal> {
  const { seal, knowsKey } = await openAdministratorSeal(settings);
  if (!knowsKey)
    throw misconfigured(
      'the call cannot be recorded: the key that seals records is not known here',
      'Run the command with the STATE_DIR or the TOKEN_ENCRYPTION_KEY of the daemon.',
    );
  return {
    async known() {
      const action_id = randomSuffix();
      return { state: 'new', write: { action_id, key: action_id }, further: false };
    },
    async start({ action_id }, call) {
      const close = (field: 'args' | 'summary', text: string) =>
        closeActionText(seal, action_id, field, text);
      const who = person === null ? {} : { who: { person } };
      await noteAudit(store, { command: 'tools call', about: call.tool.name, ...who });
      const { outcome } = await store.actions.start(null, {
        ...{ action_id, person, operator: systemUser(), tool: call.tool.name },
        ...{ session_tag: null, session_id: null, platform: null, user_id: null, alias_id: null },
        turn_key: `operator:${action_id}`,
        args: close('args', maskTokens(JSON.stringify(call.args))),
        summary: close('summary', summaryOf(call)),
      });
      return outcome === 'started' ? 'started' : 'lost';
    },
    async finish({ action_id }, { state, status, answer }) {
      const text = answer && closeActionText(seal, action_id, 'answer', JSON.stringify(answer));
      await store.actions.finish(action_id, 1, { state, status, answer: text });
    },
  };
}
