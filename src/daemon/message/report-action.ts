import { escapeMarkdown } from '../confirmation/escape-markdown.ts';
import type { Services } from '../services.ts';
import type { CarriedOut } from './carry-out.ts';
import type { Settled } from './turn.ts';

/** What came of a confirmed action, in the daemon's own words: the agent could not say it. */
export async function reportAction(
  { action_id, told: { summary } }: CarriedOut,
  { texts }: Settled,
  { store }: Services,
): Promise<string> {
  const action = escapeMarkdown(summary);
  switch ((await store.actions.find(action_id))?.state) {
    case 'done':
      return texts.say('confirm_done', { action });
    case 'failed':
      return texts.say('confirm_failed', { action });
    default:
      return texts.say('write_unknown', { action });
  }
}
