import { beforeEach, describe, expect, it } from 'vitest';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { link } from '../../../src/daemon/linking/links.ts';
import { identifyByLink } from '../../../src/daemon/message/identify-by-link.ts';
import { dropLink } from '../../support/drop-link.ts';
import { TELEX } from '../../support/later-services.ts';
import { aMessage, aTurnOf, ON_PLATFORM, runStep, type StepWorld, stepWorld } from '../../support/step.ts';
import { token } from '../../support/tokens.ts';

const MINUTE = 60_000;

let world: StepWorld;
beforeEach(async () => {
  world = await stepWorld();
});

const from = (user_id: string, alias_id?: string) =>
  aTurnOf(world, {
    ...ON_PLATFORM,
    message: aMessage({ platform: 'telex', user_id, ...(alias_id === undefined ? {} : { alias_id }) }),
  });

async function linked(user_id: string, ttl = 3600): Promise<void> {
  expect(await link(world.services, TELEX, user_id, await token({ sub: 'ada', ttl }))).toMatchObject({
    linked: true,
  });
}

describe('identify, by a link', () => {
  it('finds the person of the link, and ignores a token in the message', async () => {
    await linked('u1');
    const { turn, line } = await runStep(world, identifyByLink, from('u1'));
    expect(turn.credential).toMatchObject({ kind: 'person', verdict: { person: '["","","ada"]' } });
    expect(line).toMatchObject({ reason: 'valid_token', detail: { link: 'found', sub: 'ada' } });
    const stranger = from('u2');
    stranger.message.metadata.jwt_token = await token({ sub: 'ada' });
    const nobody = await runStep(world, identifyByLink, stranger);
    expect(nobody.turn.credential).toEqual({ kind: 'none', reason: 'no_link' });
    expect(nobody.line).toMatchObject({ verdict: 'ok', reason: 'no_link' });
  });

  it('logs with the id of the request that the token of the link is refused, or cannot be unsealed', async () => {
    const key = 'telex:jwt:u1';
    const person = personKey({ sub: 'ada' });
    await world.store.links.put({ key, token: 'no token', person, ttl_ms: MINUTE });
    await runStep(world, identifyByLink, from('u1'));
    await world.store.replaceToken({ kind: 'link', key, token: 'no token' }, 'sealed.v1.AAAA');
    await runStep(world, identifyByLink, from('u1'));
    expect(world.lines.map(({ request_id, msg }) => [request_id, msg])).toEqual([
      ['request-1', 'token refused: JWT Malformed'],
      ['request-1', 'linked token is not valid: JWT Malformed; using default credentials'],
      ['request-1', 'no encryption key can unseal the linked token'],
    ]);
  });

  it('does not identify the sender if the user id has a new owner', async () => {
    await linked('u1');
    await runStep(world, identifyByLink, from('u1', 'first'));
    const { turn, line } = await runStep(world, identifyByLink, from('u1', 'second'));
    expect(turn.credential).toEqual({ kind: 'none', reason: 'link_of_other_sender' });
    expect(line).toMatchObject({ verdict: 'fallback', reason: 'link_of_other_sender' });
    expect(world.lines).toMatchObject([{}, { level: 'warn', request_id: 'request-1' }]);
  });

  it('sets `expiry_notified` only after a turn has succeeded since the token expired', async () => {
    await linked('u1', 60);
    world.clock.moveTo(world.clock.now() + 2 * MINUTE);
    const notified = async (failed: boolean) => {
      const { turn, line } = await runStep(world, identifyByLink, from('u1'));
      await turn.release(failed);
      expect(line).toMatchObject({ verdict: 'fallback', reason: 'Token Expired' });
      expect(turn.credential).toMatchObject({ kind: 'expired' });
      return turn.credential.kind === 'expired' && turn.credential.expiry_notified;
    };
    expect(await notified(true)).toBe(false);
    expect(await notified(false)).toBe(false);
    expect(await notified(false)).toBe(true);
    const warnings = world.lines.filter(({ msg }) => String(msg).startsWith('linked token'));
    expect(warnings).toHaveLength(3);
    for (const line of warnings)
      expect(line).toMatchObject({
        reason: 'stored_token_expired',
        request_id: 'request-1',
        channel: expect.any(String),
        level: 'warn',
      });
  });
});

describe('identify, by a link that was made with a code', () => {
  /** Services whose renewer notes the links that it meets, and does this. */
  function renewing(outcome: 'renewed' | 'ended' | 'kept', then: () => Promise<unknown> = async () => {}) {
    const met: string[] = [];
    world.services.renewer = {
      async met({ token: old }) {
        met.push(old);
        await then();
        return outcome;
      },
    };
    return met;
  }
  const linkWithCode = (own: string) => link(world.services, TELEX, 'u1', own, () => true, 'code');

  it('uses the new token if it was renewed just now', async () => {
    const [old, fresh] = [await token({ sub: 'ada' }), await token({ sub: 'ada', ttl: 7200 })];
    await linkWithCode(old);
    const met = renewing('renewed', () => linkWithCode(fresh));
    const { turn, line } = await runStep(world, identifyByLink, from('u1'));
    expect(met).toEqual([old]);
    expect(turn.credential.kind === 'person' && turn.credential.verdict.user.token.reveal()).toBe(fresh);
    expect(line).toMatchObject({ reason: 'valid_token', detail: { renewal: 'renewed' } });
  });

  it('acts for nobody if the link ended, because the person is no longer signed in', async () => {
    await linkWithCode(await token({ sub: 'ada' }));
    renewing('ended', () => dropLink(world.store.links, 'telex:jwt:u1'));
    const { turn, line } = await runStep(world, identifyByLink, from('u1'));
    expect(turn.credential).toEqual({ kind: 'none', reason: 'no_link' });
    expect(line).toMatchObject({ reason: 'no_link', detail: { renewal: 'ended' } });
  });

  it('acts for nobody if the link was removed while the issuer did not answer', async () => {
    await linkWithCode(await token({ sub: 'ada' }));
    renewing('kept', () => dropLink(world.store.links, 'telex:jwt:u1'));
    const { turn } = await runStep(world, identifyByLink, from('u1'));
    expect(turn.credential).toEqual({ kind: 'none', reason: 'no_link' });
  });

  it('renews no link that was made with a token, and none whose token is not valid', async () => {
    const met = renewing('kept');
    await linked('u1');
    await runStep(world, identifyByLink, from('u1'));
    await linkWithCode(await token({ sub: 'ada', ttl: 60 }));
    world.clock.moveTo(world.clock.now() + 2 * MINUTE);
    await runStep(world, identifyByLink, from('u1'));
    expect(met).toEqual([]);
  });
});
