import type { TraceRecord } from '../../trace/trace-record.ts';
import { TRACES_FOUND_MAX } from '../bounds.ts';
import type { TraceStore } from '../traces.ts';
import type { Steps } from './as-port.ts';
import type { MemoryContext } from './context.ts';

export function traceSteps(context: MemoryContext): Steps<TraceStore> {
  const { state, clock, bounds } = context;
  const isErased = ({ turn_id, session_id }: TraceRecord) =>
    [turn_id, session_id ?? ''].some((id) => (state.erased.get(id) ?? 0) > clock.now());
  const newest = (isFound: (trace: TraceRecord) => boolean) =>
    [...state.traces, ...state.refused]
      .filter(({ kept_at, trace }) => kept_at > clock.now() - bounds.traceRetentionMs && isFound(trace))
      .sort((a, b) => a.kept_at - b.kept_at)
      .slice(-TRACES_FOUND_MAX)
      .map(({ trace }) => trace);
  return {
    keep(trace) {
      if (!isErased(trace)) keepTrace(context, trace);
    },
    keepRefused(trace, client = null) {
      if (isErased(trace)) return;
      state.refused.push({ kept_at: clock.now(), client, trace });
      if (state.refused.length > bounds.refusedMax) state.refused.shift();
    },
    find(id) {
      const colon = id.indexOf(':');
      const isFound = ({ turn_id, request_id, session_id, message_id, platform }: TraceRecord) =>
        [turn_id, request_id, session_id, message_id].includes(id) ||
        (colon >= 0 && platform === id.slice(0, colon) && message_id === id.slice(colon + 1));
      return newest(isFound);
    },
    findOf({ platform, user_id }) {
      return newest(
        (trace) => trace.user_id === user_id && (platform === undefined || trace.platform === platform),
      );
    },
  };
}

export function keepTrace({ state, clock, bounds }: MemoryContext, trace: TraceRecord): void {
  state.traces.push({ kept_at: clock.now(), client: null, trace });
  if (state.traces.length > bounds.tracesMax) state.traces.shift();
}
