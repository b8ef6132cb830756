import type { ChannelRequest, StreamTokens } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import type { Settings } from '../settings/settings.ts';

/** The values of `Sec-Fetch-Site` (Fetch Metadata) for requests that do not come from another site. */
const OWN_SITES: readonly string[] = ['same-origin', 'none'];

/**
 * Refuses the request of a browser unless a script of an allowed page made it. A link, a frame, an image, a form or a
 * script of another site can make the browser request a stream with the cookie of the person who views that site
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
  // If the browser does not support Fetch Metadata, a request with a cookie that accepts HTML counts as a navigation.
  const isPage = ambient.some(Boolean) && /text\/html/i.test(accept ?? '');
  if (mode === 'navigate' || isForeign || isPage)
    throw new AgentdError(
      'forbidden',
      'A stream can only be read by a script of an allowed page. It cannot be opened as a page.',
    );
}
