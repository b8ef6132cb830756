import type { IncomingMessage, ServerResponse } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { LocalServer } from './local-server.ts';
import { bytesOf, type Fields, fieldsOf, numberOf } from './protobuf.ts';

/** A span, with the members that tests check. */
export interface SeenSpan {
  traceId: string;
  spanId: string;
  /** Empty if the span has no parent. */
  parentSpanId: string;
  name: string;
  kind: number;
  attributes: Record<string, string | number | boolean>;
  events: { name: string; attributes: Record<string, string | number | boolean> }[];
  /** The status code; 2 is an error. */
  status: number;
  /** ns since the epoch. */
  start: bigint;
  end: bigint;
  resource: Record<string, string | number | boolean>;
}

/** An export request, with its body unpacked. */
export interface SeenExport {
  path: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

/** A collector that speaks OTLP/HTTP, as JSON and as protobuf. */
export class Collector extends LocalServer {
  readonly exports: SeenExport[] = [];
  readonly spans: SeenSpan[] = [];
  /** HTTP status of the answer. */
  status = 200;

  static start(): Promise<Collector> {
    return new Collector().listen();
  }

  /** The bodies of all exports. */
  get bytes(): Buffer {
    return Buffer.concat(this.exports.map(({ body }) => body));
  }

  /** Resolves to the first span that meets the condition, when it has arrived. */
  async span(found: (span: SeenSpan) => boolean): Promise<SeenSpan> {
    await this.until(() => this.spans.some(found));
    return this.spans.find(found) as SeenSpan;
  }

  /** The spans of one trace as a tree: their names, indented, in the order in which the spans began. */
  tree(traceId: string): string[] {
    const all = this.spans
      .filter((span) => span.traceId === traceId)
      .toSorted((a, b) => Number(a.start - b.start));
    const ids = new Set(all.map(({ spanId }) => spanId));
    const below = (parent: SeenSpan, depth: number): string[] => [
      `${'  '.repeat(depth)}${parent.name}`,
      ...all
        .filter(({ parentSpanId }) => parentSpanId === parent.spanId)
        .flatMap((span) => below(span, depth + 1)),
    ];
    return all.filter(({ parentSpanId }) => !ids.has(parentSpanId)).flatMap((span) => below(span, 0));
  }

  protected handle(request: IncomingMessage, response: ServerResponse, sent: Buffer): void {
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
    this.exports.push({ path: request.url ?? '', headers: request.headers, body });
    const isJson = request.headers['content-type'] === 'application/json';
    if (this.status === 200) this.spans.push(...(isJson ? spansOfJson(body) : spansOfProtobuf(body)));
    response.writeHead(this.status, { 'content-type': request.headers['content-type'] ?? '' });
    response.end(isJson ? '{}' : '');
    this.emit('came');
  }
}

type Attribute = { key: string; value: Record<string, unknown> };

function spansOfJson(body: Buffer): SeenSpan[] {
  // biome-ignore lint/suspicious/noExplicitAny: the JSON is not validated
  const request = JSON.parse(body.toString('utf8')) as any;
  // biome-ignore lint/suspicious/noExplicitAny: the JSON is not validated
  return request.resourceSpans.flatMap(({ resource, scopeSpans }: any) =>
    // biome-ignore lint/suspicious/noExplicitAny: the JSON is not validated
    scopeSpans.flatMap(({ spans }: any) =>
      // biome-ignore lint/suspicious/noExplicitAny: the JSON is not validated
      spans.map((span: any) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        name: span.name,
        kind: span.kind,
        attributes: attributesOfJson(span.attributes),
        events: (span.events ?? []).map((event: { name: string; attributes: Attribute[] }) => ({
          name: event.name,
          attributes: attributesOfJson(event.attributes),
        })),
        status: span.status?.code ?? 0,
        start: BigInt(span.startTimeUnixNano),
        end: BigInt(span.endTimeUnixNano),
        resource: attributesOfJson(resource.attributes),
      })),
    ),
  );
}

function attributesOfJson(attributes: Attribute[] = []): SeenSpan['attributes'] {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const [[kind = '', plain = ''] = []] = Object.entries(value);
      return [key, kind === 'intValue' ? Number(plain) : (plain as string | number | boolean)];
    }),
  );
}

/** The numbers are the field numbers of opentelemetry-proto: trace.proto, common.proto, resource.proto. */
function spansOfProtobuf(body: Buffer): SeenSpan[] {
  return messages(fieldsOf(body), 1).flatMap((resourceSpans) => {
    const resource = attributesOfFields(messages(messages(resourceSpans, 1)[0] ?? new Map(), 1));
    return messages(resourceSpans, 2).flatMap((scopeSpans) =>
      messages(scopeSpans, 2).map((span) => ({
        traceId: bytesOf(span, 1).toString('hex'),
        spanId: bytesOf(span, 2).toString('hex'),
        parentSpanId: bytesOf(span, 4).toString('hex'),
        name: bytesOf(span, 5).toString('utf8'),
        kind: Number(numberOf(span, 6)),
        start: numberOf(span, 7),
        end: numberOf(span, 8),
        attributes: attributesOfFields(messages(span, 9)),
        events: messages(span, 11).map((event) => ({
          name: bytesOf(event, 2).toString('utf8'),
          attributes: attributesOfFields(messages(event, 3)),
        })),
        status: Number(numberOf(messages(span, 15)[0] ?? new Map(), 3)),
        resource,
      })),
    );
  });
}

function messages(fields: Fields, field: number): Fields[] {
  return (fields.get(field) ?? []).map((value) => fieldsOf(value as Buffer));
}

function attributesOfFields(attributes: readonly Fields[]): SeenSpan['attributes'] {
  return Object.fromEntries(
    attributes.map((attribute) => {
      const value = messages(attribute, 2)[0] ?? new Map();
      const isText = value.has(1);
      const isBoolean = value.has(2);
      const number = Number(numberOf(value, isBoolean ? 2 : 3));
      return [
        bytesOf(attribute, 1).toString('utf8'),
        isText ? bytesOf(value, 1).toString('utf8') : isBoolean ? number === 1 : number,
      ];
    }),
  );
}
