import type { ChannelCheck } from '../../src/channel/index.ts';
import type { Configured } from './configured.ts';
import type { Failure, Graph } from './graph.ts';
import { LACKS_PERMISSION } from './graph-errors.ts';

/** Asks the platform whether it knows the business numbers, with the access token. */
export async function checkNumbers(graph: Graph, { numbers }: Configured): Promise<ChannelCheck> {
  const asked = await Promise.all([...numbers].map(async (id) => ({ id, found: await graph.look(id) })));
  const failures = asked.flatMap(({ id, found }) => ('reason' in found ? [{ id, ...found }] : []));
  const [first] = failures;
  if (first === undefined) {
    const shown = asked.flatMap(({ found }) => ('shown' in found ? [found.shown] : []));
    return { outcome: 'ok', detail: `the platform knows ${shown.join(', ')}` };
  }
  const detail = failures.map(({ id, reason }) => `number ${id}: ${reason}`).join('; ');
  // A token may have the permission to send, but not the permission to read a number.
  if (failures.every(({ account }) => account === LACKS_PERMISSION))
    return {
      outcome: 'warning',
      detail: `the number could not be read, but sending may still work: ${detail}`,
      advice:
        'Give the system user the permissions whatsapp_business_messaging, for sending, and whatsapp_business_management, for this check.',
    };
  return { outcome: 'failed', detail, advice: adviceFor(first) };
}

function adviceFor({ account, final }: Failure): string {
  if (account !== undefined || final)
    return 'Compare PHONECHAT_ACCESS_TOKEN and PHONECHAT_PHONE_NUMBER_ID with the page of the app, under API setup.';
  return 'Check that this machine can reach PHONECHAT_API_URL.';
}
