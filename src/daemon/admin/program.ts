/** The installed program. `agentd --version` loads this module, so it imports almost nothing. */
export { commit, version } from '../files/version.ts';

/** The layout of the embedded store that this version writes. */
export async function storeLayout(): Promise<string> {
  const store = await import('../store/open.ts');
  return store.storeLayout();
}
