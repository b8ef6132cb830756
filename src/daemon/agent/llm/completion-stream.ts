import { jsonObject } from '../../../channel/json-object.ts';

/**
 * The response of a model server as the SDK reads it. Some servers ignore `stream` and answer with the whole completion
 * as JSON, which becomes a stream of one chunk. Some do not say why a complete answer ended.
 *
 * @param asked the body of the request
 */
export async function streamOfCompletion(response: Response, asked: unknown): Promise<Response> {
  if (!response.ok || !asksForStream(asked)) return response;
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  if (!isJson) return withReason(response);
  const text = await response.text();
  const chunk = toChunk(text);
  const headers = new Headers(response.headers);
  // These headers describe the original body.
  for (const name of ['content-length', 'content-encoding', 'transfer-encoding']) headers.delete(name);
  if (chunk === null) return new Response(text, { status: response.status, headers });
  headers.set('content-type', 'text/event-stream');
  return new Response(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`, {
    status: response.status,
    headers,
  });
}

function asksForStream(body: unknown): boolean {
  return typeof body === 'string' && jsonObject(body).stream === true;
}

interface Choice {
  message?: { tool_calls?: unknown; [member: string]: unknown };
  [member: string]: unknown;
}

/** The completion as the chunk of a stream. Null if the text is not a completion. */
function toChunk(text: string): object | null {
  const completion = jsonObject(text);
  const { choices } = completion;
  if (!Array.isArray(choices)) return null;
  return { ...completion, object: 'chat.completion.chunk', choices: choices.map(choiceOfChunk) };
}

function choiceOfChunk({ message = {}, ...given }: Choice): object {
  const { tool_calls: calls, ...delta } = message;
  const choice = { ...given, finish_reason: given.finish_reason ?? 'stop' };
  if (!Array.isArray(calls)) return { ...choice, delta };
  // In a stream, each tool call has an index, which all pieces of the call repeat.
  return { ...choice, delta: { ...delta, tool_calls: calls.map((call, index) => ({ index, ...call })) } };
}

/** The chunk that the server left out. */
const END = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`;

/**
 * Adds the reason why an answer ended to a stream that ends with `[DONE]`, but without a reason. The mark says that the
 * answer is complete: a stream that was cut does not have it.
 */
function withReason(response: Response): Response {
  if (response.body === null) return response;
  let rest = '';
  let isOpen = false;
  const lines = new TransformStream<string, string>({
    transform(text, controller) {
      const end = text.lastIndexOf('\n') + 1;
      if (end === 0) {
        rest += text;
        return;
      }
      const whole = rest + text.slice(0, end);
      rest = text.slice(end);
      isOpen ||= whole.includes('"delta"');
      if (/"finish_reason"\s*:\s*"/.test(whole)) isOpen = false;
      controller.enqueue(isOpen ? whole.replace(/^data: ?\[DONE\]/m, `${END}$&`) : whole);
    },
    flush(controller) {
      controller.enqueue(rest);
    },
  });
  const body = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(lines)
    .pipeThrough(new TextEncoderStream());
  return new Response(body, response);
}
