/**
 * Some model servers ignore `stream` and answer with the whole completion as JSON. This function turns the completion
 * into a stream of one chunk.
 *
 * @param asked the body of the request
 * @returns a stream if the response is a whole completion as JSON, otherwise a response with the same content
 */
export async function streamOfCompletion(response: Response, asked: unknown): Promise<Response> {
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  if (!response.ok || !isJson || !asksForStream(asked)) return response;
  const text = await response.text();
  const chunk = chunkOf(text);
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
  return typeof body === 'string' && (JSON.parse(body) as { stream?: unknown }).stream === true;
}

interface Choice {
  message?: { tool_calls?: unknown; [member: string]: unknown };
  [member: string]: unknown;
}

/** The completion as the chunk of a stream. Null if the text is not a completion. */
function chunkOf(text: string): object | null {
  const completion = parsed(text);
  const choices = (completion as { choices?: unknown } | null)?.choices;
  if (!Array.isArray(choices)) return null;
  return { ...(completion as object), object: 'chat.completion.chunk', choices: choices.map(choiceOfChunk) };
}

function choiceOfChunk({ message = {}, ...choice }: Choice): object {
  const { tool_calls: calls, ...delta } = message;
  if (!Array.isArray(calls)) return { ...choice, delta };
  // In a stream, each tool call has an index, which all pieces of the call repeat.
  return { ...choice, delta: { ...delta, tool_calls: calls.map((call, index) => ({ index, ...call })) } };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
