import type { ChannelCheck, SetupOutcome } from '../../src/channel/index.ts';
import { type Configured, type Failure, type Graph, LACKS_PERMISSION, WEBHOOK_PATH } from './api.ts';

/** Maximum length of an address, in characters (Cloud API, "Webhook overrides"). */
const URL_MAX = 200;

const SET_UP = 'Run `agentd channels setup phonechat --url` with the public address of the daemon.';
const SUBSCRIBE =
  'Under WhatsApp, Configuration, subscribe the app to the field messages, and set PHONECHAT_BUSINESS_ACCOUNT_ID.';

/**
 * Registers the webhook for each number (Cloud API, "Webhook overrides"). If the id of the business account is known,
 * first subscribes the app to the account. The platform calls the address at once, so the daemon must be running.
 */
export async function register(
  address: string,
  graph: Graph,
  { numbers, account_id }: Configured,
): Promise<SetupOutcome> {
  const url = address + WEBHOOK_PATH;
  if (url.length > URL_MAX)
    return {
      outcome: 'failed',
      detail: `${url} is longer than ${URL_MAX} characters`,
      advice: 'Use a shorter address.',
    };
  const refused = account_id === null ? null : await graph.subscribe(account_id);
  if (refused !== null) return failed(`the app is not subscribed to the account ${account_id}`, refused);
  for (const id of numbers) {
    const failure = await graph.setWebhook(id, url);
    if (failure !== null) return failed(`the webhook of the number ${id} is not registered`, failure);
    const found = await graph.fetchWebhook(id);
    if ('reason' in found)
      return failed(`the platform did not report the registered webhook of the number ${id}`, found);
    if (found.url !== url)
      return {
        outcome: 'failed',
        detail: `the platform accepted the address, but reports that it delivers to ${found.url ?? 'no address'}`,
        advice: 'Check whether another program registers a webhook for the same number.',
      };
  }
  const app = account_id === null ? '' : ', and the app is subscribed to the account';
  return {
    outcome: 'registered',
    detail: `the platform delivers to ${url}${app}${account_id === null ? `. ${SUBSCRIBE}` : ''}`,
    facts: { url, numbers: [...numbers], subscribed: account_id !== null },
  };
}

/**
 * Checks that the platform delivers to this channel for each number. If the id of the business account is known, also
 * checks that an app is subscribed to the account.
 */
export async function checkRegistration(
  graph: Graph,
  { numbers, account_id }: Configured,
): Promise<ChannelCheck> {
  for (const id of numbers) {
    const found = await graph.fetchWebhook(id);
    if ('reason' in found) return unknown(`the registered webhook of the number ${id}`, found);
    if (found.url === null)
      return { outcome: 'warning', detail: `no webhook is registered for the number ${id}`, advice: SET_UP };
    if (!URL.parse(found.url)?.pathname.endsWith(WEBHOOK_PATH)) {
      const detail = `the webhook of the number ${id} is ${found.url}, which does not belong to this channel`;
      return { outcome: 'warning', detail, advice: SET_UP };
    }
  }
  const delivers = `the platform delivers for ${numbers.size === 1 ? 'the number' : 'all numbers'}`;
  if (account_id === null) return { outcome: 'ok', detail: delivers };
  const apps = await graph.subscribedApps(account_id);
  if ('reason' in apps) return unknown(`which apps are subscribed to the account ${account_id}`, apps);
  if (apps.names.length === 0)
    return {
      outcome: 'warning',
      detail: `no app is subscribed to the account ${account_id}`,
      advice: SET_UP,
    };
  return { outcome: 'ok', detail: `${delivers}, to ${apps.names.join(', ')}` };
}

function failed(what: string, { reason }: Failure): SetupOutcome {
  return {
    outcome: 'failed',
    detail: `${what}: ${reason}`,
    advice:
      'The daemon must run at that address, with a valid certificate and with this PHONECHAT_VERIFY_TOKEN, which the platform sends at once. The access token needs whatsapp_business_management.',
  };
}

function unknown(what: string, { reason }: Failure): ChannelCheck {
  return {
    outcome: 'warning',
    detail: `the platform did not report ${what}: ${reason}`,
    advice: 'The access token needs whatsapp_business_management for this check.',
  };
}

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
