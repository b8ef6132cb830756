import { askDefaultToken, isSampleApi } from '../../daemon/admin/probes.ts';
import type { Settings } from '../../daemon/admin/settings.ts';
import { adviceFor } from '../advice.ts';
import { type Finding, findingsOf } from './finding.ts';
import { describeFailure, type ProbeClient } from './probe-client.ts';

const WHOSE = 'the business API';

/** Checks whether the business API answers, and whether the default credentials get a token. */
export async function checkBusinessApi(settings: Settings, client: ProbeClient): Promise<Finding[]> {
  const { API_BASE_URL } = settings;
  if (API_BASE_URL === undefined)
    return [findingsOf('business API').skipped('API_BASE_URL is not set, so tools call no API')];
  const findings = await Promise.all([reachable(API_BASE_URL, client), defaultToken(settings, API_BASE_URL)]);
  return isSampleApi(settings) && !client.answered.has(WHOSE) ? findings.map(stopped) : findings;
}

/** The sample API stops when `serve --dev` stops. That is not a failure of the operator's own API. */
function stopped({ check }: Finding): Finding {
  return findingsOf(check).skipped(
    'this is the sample API of `serve --dev`, which runs only as long as that command',
  );
}

/** Any answer below 500 is fine. A proxy in front of the API answers 5xx if the API is down. */
async function reachable(address: string, client: ProbeClient): Promise<Finding> {
  const { ok, failed } = findingsOf('business API');
  const { origin } = new URL(address);
  const advice = 'Check API_BASE_URL, and that this machine can reach it: try curl from here.';
  try {
    const { status } = await client.fetchFor(WHOSE)(address, { method: 'HEAD', redirect: 'manual' });
    return status < 500 ? ok(`${origin} answers`) : failed(`${origin} answers ${status}`, advice);
  } catch (error) {
    return failed(`${origin}: ${describeFailure(error)}`, advice);
  }
}

async function defaultToken(settings: Settings, baseUrl: string): Promise<Finding> {
  const { ok, failed, skipped } = findingsOf('default credentials');
  const { API_EMAIL: email, API_PASSWORD: password } = settings;
  if (email === undefined || password === undefined)
    return skipped(
      'API_EMAIL and API_PASSWORD are not set, so people who are not signed in get no data of the business API',
    );
  const failure = await askDefaultToken(settings, baseUrl, { email, password });
  if (failure === null) return ok(`the API issued a token to ${email}`);
  const { happened, todo } = adviceFor(failure.reason) ?? { happened: failure.message };
  return failed(happened, todo);
}
