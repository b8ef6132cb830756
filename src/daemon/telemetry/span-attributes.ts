import type { Attributes } from '@opentelemetry/api';
import { maskTokens } from '../settings/secret.ts';
import type { BegunMessage, ModelContent, SpanSubject } from '../trace/span.ts';
import type { TraceLine, TraceRecord } from '../trace/trace-record.ts';

/** Longest value of an attribute, except for texts of models, in characters. */
const VALUE_MAX = 128;
/** Longest exported text of a model call, in characters. */
const CONTENT_MAX = 32_768;
/** The form of a reason in the trace. Other texts are not exported, since they may quote a person. */
const WORDS = /^[A-Za-z][\w .-]{0,63}$/;

/**
 * The exported attributes of a line (agentd-telemetry(7), "Spans"). Only known details are exported, and the length of
 * each is limited. Paths, queries, arguments, persons, sessions and texts are not among them.
 */
export function toAttributes(line: TraceLine): Attributes {
  const { verdict, reason } = line;
  return {
    'agentd.verdict': verdict,
    ...(reason === undefined ? {} : { 'agentd.reason': toWord(reason) }),
    ...(verdict === 'failed' ? { 'error.type': toErrorType(line) } : {}),
    ...toDetails(line),
  };
}

/** The final name of a span. The tool, the model and the source are known only at its end. */
export function formatSpanName({ step, detail = {} }: TraceLine): string {
  switch (step) {
    case 'tool':
      return `execute_tool ${limitText(detail.tool)}`;
    case 'model':
      return `chat ${limitText(detail.model)}`;
    case 'downstream':
      return `${limitText(detail.method)} ${limitText(detail.source)}`;
    default:
      return step;
  }
}

/** The attributes that a span has from its start. */
export function subjectAttributes({ origin, provider, max_output_tokens }: SpanSubject = {}): Attributes {
  const url = origin === undefined ? null : new URL(origin);
  return {
    ...(url === null ? {} : { 'server.address': url.hostname }),
    ...(url === null ? {} : { 'server.port': Number(url.port) || (url.protocol === 'https:' ? 443 : 80) }),
    ...(provider === undefined ? {} : { 'gen_ai.provider.name': limitText(provider) }),
    ...(max_output_tokens === undefined ? {} : { 'gen_ai.request.max_tokens': max_output_tokens }),
  };
}

export function messageAttributes({ turn_id, channel }: BegunMessage): Attributes {
  return { 'agentd.turn_id': turn_id, 'agentd.channel': channel };
}

export function outcomeAttributes({ outcome }: TraceRecord): Attributes {
  return { 'agentd.outcome': toWord(outcome) };
}

export function contentAttributes({ input, output }: ModelContent): Attributes {
  return {
    'gen_ai.input.messages': toJson(input),
    'gen_ai.output.messages': toJson([{ role: 'assistant', parts: [{ type: 'text', content: output }] }]),
  };
}

function toDetails({ step, detail = {} }: TraceLine): Attributes {
  switch (step) {
    case 'tool':
      return { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': limitText(detail.tool) };
    case 'credentials':
      return omitAbsent({ 'agentd.credentials': detail.credentials, 'agentd.policy': detail.policy });
    case 'downstream':
      return omitAbsent({
        'http.request.method': detail.method,
        'http.response.status_code': detail.status,
        'agentd.source': detail.source,
        'agentd.credentials': detail.credentials,
      });
    case 'model':
      return omitAbsent({
        'gen_ai.operation.name': detail.model === undefined ? undefined : 'chat',
        'gen_ai.request.model': detail.model,
        'gen_ai.usage.input_tokens': detail.input_tokens,
        'gen_ai.usage.output_tokens': detail.output_tokens,
        'agentd.usage_estimated': detail.estimated,
        'agentd.first_token_ms': detail.first_token_ms,
        'agentd.fallback': detail.fallback,
      });
    default:
      return {};
  }
}

function toErrorType({ step, reason, detail = {} }: TraceLine): string {
  if (step === 'downstream' && typeof detail.status === 'number') return String(detail.status);
  return reason === undefined ? '_OTHER' : toWord(reason);
}

function omitAbsent(values: Readonly<Record<string, string | number | boolean | undefined>>): Attributes {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === 'string' ? limitText(value) : value]],
    ),
  );
}

function toWord(reason: string): string {
  return WORDS.test(reason) ? reason : '_OTHER';
}

/** Limits the length of a name from the configuration or from a source of tools. */
function limitText(value: unknown): string {
  return value === undefined ? 'unknown' : String(value).slice(0, VALUE_MAX).toWellFormed();
}

/** Messages and tool results are masked when they arrive. This masks everything else, such as instructions. */
function toJson(value: unknown): string {
  return maskTokens(JSON.stringify(value) ?? '')
    .slice(0, CONTENT_MAX)
    .toWellFormed();
}
