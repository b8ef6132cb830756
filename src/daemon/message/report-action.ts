import { escapeMarkdown } from '../confirmation/escape-markdown.ts';
import type { Services } from '../services.ts';
import type { CarriedOut } from './carry-out.ts';
import { outcomeText } from './report-writes.ts';
import type { Settled } from './turn.ts';

/** What came of a confirmed action, in the daemon's own words: the agent could not say it. */
export async function reportAction(
  { action_id, told: { summary } }: CarriedOut,
  { texts }: Settled,
  { store }: Services,
): Promise<string> {
  const { state } = (await store.actions.find(action_id)) ?? {};
  return texts.say(outcomeText(state), { action: escapeMarkdown(summary) });
}
