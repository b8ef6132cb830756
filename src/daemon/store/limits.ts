/** The one sliding-window primitive. A refused hit does not count. */
export interface LimitStore {
  /**
   * Counts a hit: exact at once, however many daemons ask at the same time. It is durable with the next commit of the
   * store: what a request stores after it is never durable without it, unless a commit failed in between. A crash may
   * forget the hits of requests that had stored nothing yet, so nothing may be acknowledged because of a hit alone.
   */
  hit(key: string, limit: { max: number; window_ms: number }): Promise<WindowState>;
}

export interface WindowState {
  allowed: boolean;
  /** Hits that are left in the window. */
  remaining: number;
  /** ms until one more hit has room (0 if it has); until all are free again. */
  retry_after_ms: number;
  reset_ms: number;
}
