import { expect, it } from 'vitest';
import { ENGLISH, wordsForFailure } from '../../../plugins/webchat/widget/texts.ts';
import { adviceFor } from '../../../src/cli/advice/advice.ts';
import { describeRefusal } from '../../../src/cli/chat/stream-client.ts';

/** The texts for a sender, and for an operator, about a message that the loop guard blocked. */
function textsOf(reason: 'rate_limit' | 'repetition'): string[] {
  const { message, advice } = describeRefusal({ code: 'loop_guard_blocked', reason }, 429, 30);
  const code = reason === 'rate_limit' ? 'rate_limited' : reason;
  return [wordsForFailure(ENGLISH, code), message, advice ?? '', adviceFor(reason)?.todo ?? ''];
}

it.each(['rate_limit', 'repetition'] as const)(
  'no text for a blocked message suggests writing something else, because the circuit blocks every message: %s',
  (reason) => {
    for (const text of textsOf(reason)) {
      expect(text).not.toBe('');
      expect(text).not.toMatch(/(ask|write|try|and|or) in other words/);
    }
  },
);
