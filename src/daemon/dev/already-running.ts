/** Another `serve --dev` runs in the same directory (exit code 69). */
export class DevAlreadyRunning extends Error {
  readonly code = 'DevAlreadyRunning';

  /** @param cwd the working directory of both processes */
  constructor(cwd: string) {
    super(`another \`serve --dev\` is running in ${cwd}`);
    this.name = 'DevAlreadyRunning';
  }
}
