/** The installed program. `agentd --version` loads this module, so it imports almost nothing. */
export { commit, version } from '../files/version.ts';

/** The layout of the embedded store that this version writes. */
export async function storeLayout(): Promise<string> {
  const store = await import('../store/open.ts');
  return store.storeLayout();
}

/** The files of the installed package, from which commands copy, and the directories that they make. */
export { makeDirectory } from '../files/make-directory.ts';
export { packageFolder } from '../files/version.ts';
