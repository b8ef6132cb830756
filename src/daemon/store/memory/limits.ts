import { hitWindow } from '../hit-window.ts';
import type { LimitStore } from '../limits.ts';
import type { Steps } from './as-port.ts';
import type { MemoryContext } from './context.ts';

export function limitSteps({ state, clock }: MemoryContext): Steps<LimitStore> {
  return {
    hit(key, limit) {
      const found = state.limits.get(key)?.hits ?? null;
      const { state: window, hits, expires_at } = hitWindow(found, limit, clock.now());
      state.limits.set(key, { hits, expires_at });
      return window;
    },
  };
}
