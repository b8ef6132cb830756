/** The one sliding-window primitive: exact, atomic; a refused hit does not count. */
export interface LimitStore {
  hit(key: string, limit: { max: number; window_ms: number }): Promise<WindowState>;
}

export interface WindowState {
  allowed: boolean;
  /** Hits that are left in the window. */
  remaining: number;
  /** ms until one more hit has room (0 where it has); until all are free again. */
  retry_after_ms: number;
  reset_ms: number;
}
