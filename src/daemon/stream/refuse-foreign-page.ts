import type { ChannelRequest, StreamTokens } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import type { Settings } from '../settings/settings.ts';

/** Where the page that asks comes from (Fetch Metadata, `Sec-Fetch-Site`), if it is no other site. */
const OWN_SITES: readonly string[] = ['same-origin', 'none'];

/**
 * A stream is read by a script of an own page. A link, a frame, an image, a form or a script of another site makes the
 * browser ask for it in the name of whoever looks at that page, cookie included
 * (agentd-message(7), "Whose stream it is").
 * @throws `forbidden`
 */
export function refuseForeignPage(
  { headers }: Pick<ChannelRequest, 'headers'>,
  { ambient }: Pick<StreamTokens, 'ambient'>,
  { WEBCHAT_ALLOWED_ORIGINS }: Pick<Settings, 'WEBCHAT_ALLOWED_ORIGINS'>,
): void {
  const { 'sec-fetch-mode': mode, 'sec-fetch-site': site, origin, accept } = headers;
  const isAllowed = origin !== undefined && WEBCHAT_ALLOWED_ORIGINS.includes(origin);
  const isForeign = site !== undefined && !OWN_SITES.includes(site) && !isAllowed;
  // Browsers without Fetch Metadata: what asks for a page is a navigation.
  const isPage = ambient.some(Boolean) && /text\/html/i.test(accept ?? '');
  if (mode === 'navigate' || isForeign || isPage)
    throw new AgentdError('forbidden', 'A stream is read by a script of an allowed page, not as a page.');
}
