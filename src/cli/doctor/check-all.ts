import type { Inspection, Settings } from '../../daemon/admin/settings.ts';
import { checkBusinessApi } from './business-api.ts';
import { checkChannel } from './channels.ts';
import { checkClock } from './clock.ts';
import type { Finding } from './finding.ts';
import { checkMemory } from './memory.ts';
import { checkModel } from './model.ts';
import { ProbeClient } from './probe-client.ts';
import { checkSealing } from './sealing.ts';
import { checkSecrets } from './secrets.ts';
import { checkStateDirectory } from './state-directory.ts';
import { checkStore } from './store.ts';
import { checkTools } from './tools.ts';

/** All checks of a valid configuration, in the order in which they are shown. */
export async function checkAll(
  settings: Settings,
  { channels, environment, tools }: Pick<Inspection, 'channels' | 'environment' | 'tools'>,
): Promise<Finding[]> {
  // The local checks run first: reading the whole store blocks this process, and would make other machines seem slow.
  const local = [
    checkSecrets(settings),
    ...(await checkStateDirectory(settings.STATE_DIR)),
    ...(await checkStore(settings)),
    ...(await checkSealing(settings)),
  ];
  const client = new ProbeClient();
  const remote = await Promise.all([
    checkBusinessApi(settings, client),
    checkMemory(settings),
    checkTools({ settings, tools }, client),
    checkModel(settings, client),
    ...channels.map((channel) => checkChannel(channel, client, environment)),
  ]);
  return [...local, ...remote.flat(), ...checkClock(client.readings)];
}
