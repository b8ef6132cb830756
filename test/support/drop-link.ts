import type { LinkStore } from '../../src/daemon/store/links/links.ts';

/** Removes a link, whatever its token is. False if there is none. */
export async function dropLink(links: LinkStore, key: string): Promise<boolean> {
  const found = await links.get(key);
  return found !== null && links.remove(new Map([[key, found.token]]));
}
