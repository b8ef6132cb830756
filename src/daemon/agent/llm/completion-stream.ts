import { jsonObject } from '../../../channel/json-object.ts';

/**
 * The response of a model server as the SDK reads it. Some servers ignore `stream` and answer with the whole completion
 * as JSON, which becomes a stream of one chunk, whatever its content type. Some do not say why a complete answer ended.
 *
 * @param asked the body of the request
 */
export function streamOfCompletion(response: Response, asked: unknown): Response {
  if (!response.ok || response.body === null || !asksForStream(asked)) return response;
  return new Response(response.body.pipeThrough(completeEvents()), response);
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
 * Turns a whole completion into events, and adds the reason why an answer ended to events that end with `[DONE]`, but
 * without a reason. The mark says that the answer is complete: a stream that was cut does not have it.
 */
function completeEvents(): TransformStream<Uint8Array, Uint8Array> {
  // One stream does all: each further one would delay every word of the model.
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = '';
  // Null until the first character is known. Events never begin with a brace.
  let isWhole: boolean | null = null;
  let isOpen = false;
  return new TransformStream({
    transform(bytes, controller) {
      const text = decoder.decode(bytes, { stream: true });
      const end = text.lastIndexOf('\n') + 1;
      if (isWhole === null && text.trim() !== '') isWhole = text.trimStart().startsWith('{');
      if (isWhole === true || end === 0) {
        rest += text;
        return;
      }
      const lines = rest + text.slice(0, end);
      rest = text.slice(end);
      isOpen ||= lines.includes('"delta"');
      if (/"finish_reason"\s*:\s*"[^"]/.test(lines)) isOpen = false;
      controller.enqueue(encoder.encode(isOpen ? lines.replace(/^data: ?\[DONE\]/m, `${END}$&`) : lines));
    },
    flush(controller) {
      rest += decoder.decode();
      const chunk = isWhole === true ? toChunk(rest) : null;
      const last = chunk === null ? rest : `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
      controller.enqueue(encoder.encode(last));
    },
  });
}
