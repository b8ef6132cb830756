import type { TokenExchange } from '../downstream/token-exchange.ts';
import type { McpEntry } from '../source-entry.ts';
import type { ToolSourceInfo } from '../tool.ts';

/**
 * A `fetch` for the connection on which the tools of a server are listed. It adds the fixed headers of the entry and the
 * listing credential, which is never that of a person. After a 401 to a token of this service, it repeats the request
 * once with a new token.
 */
export function listingFetch(
  { name, headers: fixed, list_credentials }: McpEntry,
  { target }: ToolSourceInfo,
  exchange: Pick<TokenExchange, 'ownToken' | 'refused'>,
): typeof globalThis.fetch {
  const settings = list_credentials === 'exchange' ? (target?.exchange ?? null) : null;
  const send = (request: Request, token: string | null) => {
    const headers = new Headers(request.headers);
    for (const [header, value] of Object.entries(fixed)) headers.set(header, value);
    if (token !== null) headers.set('authorization', `Bearer ${token}`);
    return fetch(new Request(request, { headers }));
  };
  return async (input, init) => {
    const request = new Request(input, init);
    if (settings === null) return send(request, null);
    const again = request.clone();
    const token = await exchange.ownToken(name, settings, request.signal);
    const response = await send(request, token.reveal());
    if (response.status !== 401) return response;
    exchange.refused(token);
    await response.body?.cancel();
    return send(again, (await exchange.ownToken(name, settings, request.signal)).reveal());
  };
}
