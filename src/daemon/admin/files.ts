/** The files of the installed package, from which commands copy, and the directories that they make. */
export { makeDirectory } from '../files/make-directory.ts';
export { packageFolder } from '../files/package-folder.ts';
