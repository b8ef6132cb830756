import type { PastExchange } from './agent.ts';
import { estimateTokens } from './estimate-tokens.ts';

/** How many of the latest exchanges fit into this many tokens. */
export function fittingExchanges(
  exchanges: readonly Pick<PastExchange, 'user' | 'reply'>[],
  tokens: number,
): number {
  let room = tokens;
  let count = 0;
  for (const { user, reply } of exchanges.toReversed()) {
    room -= estimateTokens(user) + estimateTokens(reply);
    if (room < 0) break;
    count++;
  }
  return count;
}
