/**
 * Thrown when a module uses what it was given for one call or one run after that call or run has ended. By then, the
 * daemon may be answering another person, so nothing is done. The message says what the author of the module must
 * change.
 */
export class ContextEnded extends Error {
  private constructor(message: string) {
    super(message);
    this.name = 'ContextEnded';
  }

  static ofCall(tool: string): ContextEnded {
    return new ContextEnded(
      `the call of the tool \`${tool}\` has ended, so its context can no longer be used: finish all work before \`call\` returns, and do not keep \`context\``,
    );
  }

  static ofRun(): ContextEnded {
    return new ContextEnded(
      'the run of this message has ended, so its tools can no longer be called: finish all work before `run` returns, and do not keep `turn`',
    );
  }
}
