import { escapeMarkdown } from '../tools/confirmation/question.ts';
import type { CarriedOut } from './carry-out.ts';
import { outcomeText } from './report-writes.ts';
import type { Services } from './services.ts';
import type { Settled } from './turn.ts';

/** Reports the outcome of a confirmed action in the daemon's own words, because the agent could not. */
export async function reportAction(
  { action_id, told: { summary } }: CarriedOut,
  { texts }: Settled,
  { store }: Services,
): Promise<string> {
  const { state } = (await store.actions.find(action_id)) ?? {};
  return texts.say(outcomeText(state), { action: escapeMarkdown(summary) });
}
