/** Request limits: sliding windows of hits. A refused hit does not count. */
export interface LimitStore {
  /**
   * Counts a hit. The count is exact at once, even if many daemons ask at the same time. The hit is durable with the
   * next commit of the store. Therefore, data that a request stores after its hit is never durable without the hit,
   * unless a commit failed in between. A crash may lose the hits of requests that had stored nothing yet, so a hit by
   * itself must not lead to an acknowledgment.
   */
  hit(key: string, limit: { max: number; window_ms: number }): Promise<WindowState>;
}

export interface WindowState {
  allowed: boolean;
  /** The number of hits that the window still has room for. */
  remaining: number;
  /**
   * `retry_after_ms`: until there is room for another hit; 0 if there is room now. `reset_ms`: until the window is
   * empty.
   */
  retry_after_ms: number;
  reset_ms: number;
}
