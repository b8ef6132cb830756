import { checkNumbers, confirmationGone } from '../tools/confirmation/judge-answer.ts';
import type { Step } from './sequence.ts';
import type { Services } from './services.ts';
import type { Arrived, Authorized } from './turn.ts';

type Uses = Pick<Services, 'store'>;

/**
 * Checks whether the question that a button names exists (agentd-agent(7), "Confirmation").
 *
 * Whether the question is for this sender is checked only when the message runs. Adds nothing. Throws
 * `confirmation_gone` for an unknown id, and `invalid_request` for a number that the question does not have.
 */
export const findAction: Step<Arrived & Authorized, object> = {
  name: 'find-action',
  async run({ message: { confirm } }, { store }: Uses, line) {
    if (confirm === undefined) line.reason = 'no_button';
    else {
      const actions = await store.actions.ofQuestion(confirm.id);
      if (actions.length === 0) throw confirmationGone();
      if (typeof confirm.approve !== 'boolean') checkNumbers(confirm.approve, actions.length);
    }
    return {};
  },
};
