import { confirmationGone } from '../tools/confirmation/judge-answer.ts';
import type { Step } from './sequence.ts';
import type { Services } from './services.ts';
import type { Arrived, Authorized } from './turn.ts';

type Uses = Pick<Services, 'store'>;

/**
 * Checks whether the action that a button names exists (agentd-agent(7), "Confirmation").
 *
 * Whether the action waits for this sender is checked only when the message runs. Adds nothing. Throws
 * `confirmation_gone` for an unknown id.
 */
export const findAction: Step<Arrived & Authorized, object> = {
  name: 'find-action',
  async run({ message: { confirm } }, { store }: Uses, line) {
    if (confirm === undefined) line.reason = 'no_button';
    else if ((await store.actions.find(confirm.id)) === null) throw confirmationGone();
    return {};
  },
};
