/** The files of the installed package, from which commands copy, and the directories that they make. */
export { makeDirectory } from '../make-directory.ts';
export { packageFolder } from '../package-folder.ts';
