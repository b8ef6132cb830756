import { systemClock } from '../../daemon/clock.ts';
import { isSampleApi } from '../../daemon/dev/sample-account.ts';
import { createDownstream, DownstreamFailure } from '../../daemon/downstream/client.ts';
import { createDefaultToken, DefaultTokenFailure } from '../../daemon/downstream/default-token.ts';
import type { Settings } from '../../daemon/settings/settings.ts';
import { adviceFor } from '../advice.ts';
import { type Asking, whyNot } from './ask.ts';
import type { Finding } from './finding.ts';

const WHOSE = 'the business API';

/** Does the business API answer, and do the default credentials get a token of it? */
export async function checkBusinessApi(settings: Settings, asking: Asking): Promise<Finding[]> {
  const { API_BASE_URL } = settings;
  if (API_BASE_URL === undefined)
    return [
      { check: 'business API', outcome: 'skipped', detail: 'API_BASE_URL is not set: tools call no API' },
    ];
  const findings = await Promise.all([reachable(API_BASE_URL, asking), defaultToken(settings, API_BASE_URL)]);
  return isSampleApi(settings) && !asking.answered.has(WHOSE) ? findings.map(stopped) : findings;
}

/** The operator's own API does not fail when `serve --dev` has ended, and its sample with it. */
function stopped({ check }: Finding): Finding {
  const detail = 'this is the sample API of `serve --dev`, which is there only while that runs';
  return { check, outcome: 'skipped', detail };
}

/** Whatever it says of its address: it is there. What stands before it may say that it is not. */
async function reachable(address: string, asking: Asking): Promise<Finding> {
  const check = 'business API';
  const { origin } = new URL(address);
  const advice = 'Is API_BASE_URL right, and does this machine reach it? Try it with curl from here.';
  try {
    const response = await asking.fetchFor(WHOSE)(address, {
      method: 'HEAD',
      redirect: 'manual',
    });
    const { status } = response;
    if (status < 500) return { check, outcome: 'ok', detail: `${origin} answers` };
    return { check, outcome: 'failed', detail: `${origin} answers ${status}`, advice };
  } catch (error) {
    return { check, outcome: 'failed', detail: `${origin}: ${whyNot(error)}`, advice };
  }
}

async function defaultToken(settings: Settings, baseUrl: string): Promise<Finding> {
  const check = 'default credentials';
  const { API_EMAIL: email, API_PASSWORD: password, API_TIMEOUT_SECONDS } = settings;
  if (email === undefined || password === undefined) {
    const detail =
      'API_EMAIL and API_PASSWORD are not set: who is not signed in gets nothing of the business API';
    return { check, outcome: 'skipped', detail };
  }
  const downstream = createDownstream({ baseUrl, timeoutMs: API_TIMEOUT_SECONDS * 1000 });
  try {
    await createDefaultToken({ downstream, email, password, clock: systemClock }).get();
    return { check, outcome: 'ok', detail: `${email} gets a token` };
  } catch (error) {
    if (!(error instanceof DefaultTokenFailure)) throw error;
    // The way to the API says more than that there is no token.
    const reason = error.cause instanceof DownstreamFailure ? error.cause.reason : error.reason;
    const { happened, todo } = adviceFor(reason) ?? { happened: error.message };
    return { check, outcome: 'failed', detail: happened, ...(todo === undefined ? {} : { advice: todo }) };
  }
}
