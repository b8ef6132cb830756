import { expect, it } from 'vitest';
import webchat from '../../../plugins/webchat/index.ts';
import { createArrival } from '../../../src/daemon/message/arrival.ts';
import { aMessage } from '../../support/step.ts';
import { CLAIMS, hs256 } from '../identity/make-token.ts';

const TOKEN = hs256(CLAIMS);
const ORIGIN = { request_id: 'r', address: '127.0.0.1', validated: null, ticket: null };
const keyOf = (message_id: string) =>
  createArrival(webchat, aMessage({ message_id }), ORIGIN, { clock: { now: () => 0 } as never }).message
    .message_id;

it('an Idempotency-Key that is a token is not kept, but recognizes a repeat', () => {
  expect(keyOf(TOKEN)).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(keyOf(TOKEN)).toBe(keyOf(TOKEN));
  expect(keyOf(TOKEN)).not.toBe(keyOf(`${TOKEN}x`));
  expect(keyOf('order-1004')).toBe('order-1004');
});
