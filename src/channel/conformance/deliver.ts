import type { Channel, ChannelRequest, ChannelResponse } from '../index.ts';
import { readMultipart } from '../multipart.ts';
import type { SampleRequest } from './options.ts';
import { RecordedProblem } from './recorded-errors.ts';

/** Finds the route of a request and calls it as the daemon does. */
export async function deliver(channel: Channel, sample: SampleRequest): Promise<ChannelResponse> {
  const url = new URL(sample.path, 'http://conformance');
  const method = sample.method ?? 'POST';
  for (const route of channel.routes) {
    const params = route.method === method ? match(route.path, url.pathname) : null;
    if (params) return route.handle(request(sample, method, url, params));
  }
  throw new Error(`the channel has no route for ${method} ${url.pathname}`);
}

function match(pattern: string, path: string): Record<string, string> | null {
  const [wanted, came] = [pattern.split('/'), path.split('/')];
  if (wanted.length !== came.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const given = came[index] ?? '';
    if (part.startsWith(':')) params[part.slice(1)] = decodeURIComponent(given);
    else if (part !== given) return null;
  }
  return params;
}

function request(
  sample: SampleRequest,
  method: string,
  url: URL,
  params: Record<string, string>,
): ChannelRequest {
  const body =
    typeof sample.body === 'string'
      ? new TextEncoder().encode(sample.body)
      : (sample.body ?? new Uint8Array());
  const headers = Object.fromEntries(
    Object.entries(sample.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const text = () => new TextDecoder().decode(body);
  return {
    id: 'conformance',
    method,
    path: url.pathname,
    params,
    query: url.searchParams,
    headers,
    body,
    json: () => objectIn(text()),
    form: () => new URLSearchParams(text()),
    async multipart() {
      const parts = await readMultipart(headers['content-type'], body);
      if (parts === null) throw new RecordedProblem('invalid_request', 'the body is not multipart/form-data');
      return parts;
    },
    address: '127.0.0.1',
    signal: new AbortController().signal,
  };
}

function objectIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // A body that cannot be parsed gets the same problem as a body that is not an object.
  }
  throw new RecordedProblem('malformed_json', 'the body is not a JSON object');
}
