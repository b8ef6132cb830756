import { expect, it } from 'vitest';
import type { ChannelPlugin } from '../../../src/channel/index.ts';
import { systemClock } from '../../../src/daemon/clock.ts';
import { InboxWorker } from '../../../src/daemon/inbox/work.ts';
import { DeliveryFailed } from '../../../src/daemon/message/delivery-failed.ts';
import { createScope } from '../../../src/daemon/plugin/scope.ts';
import { laterServices, TELEX } from '../../support/later-services.ts';
import { openAt, stateDirectory } from '../store/state-directory.ts';

async function scopeOf(plugin: ChannelPlugin) {
  const { services } = await laterServices(openAt(`${stateDirectory()}/agentd.db`), systemClock);
  return createScope(plugin, {}, services, new InboxWorker(services));
}

it('keeps the inbox from a channel that answers in the response', async () => {
  const scope = await scopeOf({ ...TELEX, capabilities: { ...TELEX.capabilities, delivery: 'response' } });
  const problem = (member: string) =>
    `the channel telex has capabilities.delivery 'response': ${member} needs 'push'`;
  await expect(scope.enqueue([])).rejects.toThrow(problem('enqueue'));
  await expect(scope.notify({}, 'text')).rejects.toThrow(problem('notify'));
  await expect(scope.edit('m1', 'text')).rejects.toThrow(problem('edit'));
});

it('makes the failure of a delivery that the daemon understands', async () => {
  const scope = await scopeOf(TELEX);
  const failure = scope.deliveryFailed('channel_not_found', { final: true });
  expect(failure).toBeInstanceOf(DeliveryFailed);
  expect(failure).toMatchObject({ message: 'channel_not_found', final: true, retryAfterSeconds: 0 });
  const later = scope.deliveryFailed('busy', { final: false, retryAfterSeconds: 3 });
  expect(later).toMatchObject({ final: false, retryAfterSeconds: 3 });
});
