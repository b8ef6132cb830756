import type { Inspection } from '../../daemon/configuration/configure.ts';
import type { Settings } from '../../daemon/settings/settings.ts';
import { Asking } from './ask.ts';
import { checkBusinessApi } from './business-api.ts';
import { checkChannel } from './channels.ts';
import { checkClock } from './clock.ts';
import type { Finding } from './finding.ts';
import { checkModel } from './model.ts';
import { checkSealing } from './sealing.ts';
import { checkSecrets } from './secrets.ts';
import { checkStateDirectory } from './state-directory.ts';
import { checkStore } from './store.ts';

/** All that is looked at with a configuration that a daemon starts with, in the order in which it is told. */
export async function checkAll(
  settings: Settings,
  { channels, environment }: Pick<Inspection, 'channels' | 'environment'>,
): Promise<Finding[]> {
  // First what is on this machine: to read the whole store holds this process, and nobody who was asked waits.
  const here = [
    checkSecrets(settings),
    ...(await checkStateDirectory(settings.STATE_DIR)),
    ...(await checkStore(settings)),
    ...(await checkSealing(settings)),
  ];
  const asking = new Asking();
  const elsewhere = await Promise.all([
    checkBusinessApi(settings, asking),
    checkModel(settings, asking),
    ...channels.map((channel) => checkChannel(channel, asking, environment)),
  ]);
  return [...here, ...elsewhere.flat(), ...checkClock(asking.readings)];
}
