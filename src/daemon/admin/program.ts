import { lazy } from './lazy.ts';

/** The installed program. `agentd --version` loads this module, so it imports almost nothing. */
export { commit, version } from '../files/version.ts';

/** The layout of the embedded store that this version writes. */
export const storeLayout = lazy(() => import('../store/open.ts'), 'storeLayout');

/** The files of the installed package, from which commands copy, and the directories that they make. */
export { makeDirectory } from '../files/make-directory.ts';
export { packageFolder } from '../files/version.ts';
