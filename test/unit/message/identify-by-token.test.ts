import { beforeEach, describe, expect, it } from 'vitest';
import { identifyByToken } from '../../../src/daemon/message/identify-by-token.ts';
import { aMessage, aTurnOf, personVerdict, runStep, type StepWorld, stepWorld } from '../../support/step.ts';
import { token } from '../../support/tokens.ts';

let world: StepWorld;
beforeEach(async () => {
  world = await stepWorld();
});

const withToken = (jwt_token: string | null | undefined) =>
  aTurnOf(world, { message: aMessage({ metadata: jwt_token === undefined ? {} : { jwt_token } }) });

describe('identify, by a token', () => {
  it('finds the person of a valid token', async () => {
    const { turn, line } = await runStep(world, identifyByToken, withToken(await token({ sub: 'ada' })));
    expect(turn.credential).toMatchObject({
      kind: 'person',
      verdict: { person: '["","","ada"]', user: { email: 'ada@example.com' } },
    });
    expect(line).toMatchObject({ verdict: 'ok', reason: 'valid_token', detail: { sub: 'ada' } });
  });

  it('falls back to default credentials if the token is not valid, and gives the reason', async () => {
    const { turn, line } = await runStep(
      world,
      identifyByToken,
      withToken(await token({ secret: 'x'.repeat(40) })),
    );
    expect(turn.credential).toEqual({ kind: 'invalid', reason: 'Invalid Signature' });
    expect(line).toMatchObject({ step: 'identify', verdict: 'fallback', reason: 'Invalid Signature' });
  });

  it.each([
    [undefined, { kind: 'none', reason: 'no_token' }, 'no_token'],
    ['', { kind: 'none', reason: 'no_token' }, 'no_token'],
    [null, { kind: 'signed-out' }, 'signed_out'],
  ])('distinguishes a missing token from an explicit null: %j', async (given, credential, reason) => {
    const { turn, line } = await runStep(world, identifyByToken, withToken(given));
    expect(turn.credential).toEqual(credential);
    expect(line).toMatchObject({ verdict: 'ok', reason });
  });

  it('does not validate a token again if it was already validated for the request', async () => {
    const validated = { token: 'of-the-request', verdict: personVerdict('ada') };
    const same = await runStep(world, identifyByToken, { ...withToken('of-the-request'), validated });
    expect(same.turn.credential).toMatchObject({ kind: 'person', verdict: { person: '["","","ada"]' } });
    const other = await runStep(world, identifyByToken, { ...withToken('another'), validated });
    expect(other.turn.credential).toEqual({ kind: 'invalid', reason: 'JWT Malformed' });
    expect(same.line.detail).not.toHaveProperty('key');
  });

  it('says which of several keys the token is signed with', async () => {
    const validated = { token: 'of-the-request', verdict: { ...personVerdict('ada'), key: 2 } };
    const { line } = await runStep(world, identifyByToken, { ...withToken('of-the-request'), validated });
    expect(line.detail).toMatchObject({ sub: 'ada', key: 2 });
  });
});
