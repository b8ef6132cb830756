/**
 * Whether a run has read texts that may come from a tool of an origin other than that of API_BASE_URL: a result of such
 * a tool, or an earlier turn, a summary or a memory that may be based on one. Such a text could have dictated what the
 * run remembers, so later runs get those memories only if they search for them. The turn keeps the mark, so that the
 * runs that are given the turn have it, too.
 */
export class RunTaint {
  #isTainted = false;
  #whenMarked: (() => Promise<void>) | null = null;

  get isTainted(): boolean {
    return this.#isTainted;
  }

  /**
   * Must be called before such a text reaches the agent. Rejects if the memories that the run has already stored could
   * not be marked; the text must then not reach the agent.
   */
  async mark(): Promise<void> {
    this.#isTainted = true;
    await this.#whenMarked?.();
  }

  /** Sets the function that marks what the run has stored before `mark` was called. */
  whenMarked(markStored: () => Promise<void>): void {
    this.#whenMarked = markStored;
  }
}
