import { shortId } from '../session/ids.ts';
import { wordOf } from '../texts/printable.ts';
import type { BlockedByCircuit, BlockedByTurnLimit, GuardUser } from './verdict.ts';

// The documented log lines (agentd-message(7), "Log lines of the guard"): people search for their exact form.

type Named = Pick<GuardUser, 'platform' | 'user_id'>;

export function duplicateLine({ platform, user_id }: Named, message_id: string): string {
  return `[LoopGuard] DUPLICATE platform=${platform} user=${wordOf(user_id)} message_id=${message_id}`;
}

export function circuitLine({ platform, user_id }: Named, { reason, count, max }: BlockedByCircuit): string {
  const figures = reason === 'rate_limit' ? `${count}/${max}` : `count=${count}`;
  return `[LoopGuard] CIRCUIT_OPEN reason=${reason} ${figures} platform=${platform} user=${wordOf(user_id)}`;
}

export function turnLimitLine(session_id: string, { turns, max }: BlockedByTurnLimit): string {
  return `[LoopGuard] TURN_LIMIT session=${wordOf(shortId(session_id))} turns=${turns}/${max}`;
}
