import { type Context, createContextKey, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  RandomIdGenerator,
  type Sampler,
  type SamplingResult,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { SamplerName } from './telemetry-options.ts';

/** Marks the context of a message if its sender may influence the sampler. */
const HEEDED = createContextKey('agentd: the sampled flag of the remote parent counts');

export function heedParent(context: Context): Context {
  return context.setValue(HEEDED, true);
}

/**
 * Creates the sampler that OTEL_TRACES_SAMPLER names. For an unauthenticated sender it ignores the sampled flag and the
 * trace id of the parent: otherwise the sender could force or prevent the sampling of all its messages. The spans
 * within a message are sampled if the message is.
 */
export function createSampler(name: SamplerName, ratio: number): Sampler {
  const configured = samplerOf(name, ratio);
  const ids = new RandomIdGenerator();
  const forMessages: Sampler = {
    shouldSample(context, traceId, ...about): SamplingResult {
      const parent = trace.getSpanContext(context);
      return parent === undefined || context.getValue(HEEDED) === true
        ? configured.shouldSample(context, traceId, ...about)
        : configured.shouldSample(ROOT_CONTEXT, ids.generateTraceId(), ...about);
    },
    toString: () => configured.toString(),
  };
  return new ParentBasedSampler({
    root: forMessages,
    remoteParentSampled: forMessages,
    remoteParentNotSampled: forMessages,
  });
}

function samplerOf(name: SamplerName, ratio: number): Sampler {
  switch (name) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio);
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
  }
}
