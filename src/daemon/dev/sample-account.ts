import { isLoopback } from '../settings/loopback.ts';
import type { Settings } from '../settings/settings.ts';

/** The account of the service at the sample API of `serve --dev`. */
export const API_ACCOUNT = { email: 'service@example.com', password: 'the-password-of-the-sample-api' };

/** Whether the business API is the sample API, which exists only while `serve --dev` runs. */
export function isSampleApi({
  API_BASE_URL,
  API_EMAIL,
  API_PASSWORD,
}: Pick<Settings, 'API_BASE_URL' | 'API_EMAIL' | 'API_PASSWORD'>): boolean {
  const url = URL.parse(API_BASE_URL ?? '');
  return (
    url !== null &&
    isLoopback(url) &&
    API_EMAIL === API_ACCOUNT.email &&
    API_PASSWORD?.reveal() === API_ACCOUNT.password
  );
}
