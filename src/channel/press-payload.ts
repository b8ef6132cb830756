import type { ConfirmationAnswer } from './message.ts';

/** Matches the button and the id of the action. */
const PAYLOAD = /^agentd:(yes|no):([A-Za-z0-9_-]{1,52})$/;

/** The payload that a button returns when it is pressed: at most 64 ASCII characters, which every platform supports. */
export function pressPayload(id: string, approve: boolean): string {
  return `agentd:${approve ? 'yes' : 'no'}:${id}`;
}

/**
 * Reads the answer from the payload of a button. Returns null if the button does not belong to a question. The daemon
 * must check the answer, because the payload is untrusted.
 */
export function readPressPayload(payload: unknown): ConfirmationAnswer | null {
  const [, word, id] = (typeof payload === 'string' && PAYLOAD.exec(payload)) || [];
  return id === undefined ? null : { id, approve: word === 'yes' };
}
