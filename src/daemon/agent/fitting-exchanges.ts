import type { PastExchange } from './agent.ts';
import { estimateTokens } from './estimate-tokens.ts';

type Exchange = Pick<PastExchange, 'user' | 'reply' | 'calls'>;

/**
 * The latest exchanges that fit into this many tokens, oldest first. If the oldest of them fits only without its calls,
 * it is returned without them.
 */
export function fittingExchanges<E extends Exchange>(exchanges: readonly E[], tokens: number): E[] {
  let room = tokens;
  const fitting: E[] = [];
  for (const exchange of exchanges.toReversed()) {
    const { calls, ...words } = exchange;
    room -= estimateTokens(exchange.user) + estimateTokens(exchange.reply);
    if (room < 0) break;
    room -= calls === undefined ? 0 : estimateTokens(JSON.stringify(calls));
    fitting.unshift(room < 0 ? (words as E) : exchange);
    if (room < 0) break;
  }
  return fitting;
}
