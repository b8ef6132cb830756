import { request as ask, createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';

/**
 * The bare limit: a POST names a stream, a GET opens it, asks the model at MODEL_URL, and writes each of its words to
 * the reader. Nothing is stored, checked or retried.
 */
const model = new URL(`${process.env.MODEL_URL}/chat/completions`);
const messages = new Map<string, string>();

const server = createServer((request, response) => {
  if (request.method === 'POST') {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const stream_id = `sse_${messages.size}`;
      messages.set(stream_id, (JSON.parse(Buffer.concat(chunks).toString()) as { message: string }).message);
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ stream_id }));
    });
    return;
  }
  const content = messages.get(request.url?.split('/').at(-1) ?? '');
  if (content === undefined) throw new Error(`no stream ${request.url}`);
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
  response.write('id: 1\nevent: stream_start\ndata: {}\n\n');
  relay(content, response);
});

function relay(content: string, response: ServerResponse): void {
  const asked = ask(model, { method: 'POST', headers: { 'content-type': 'application/json' } }, (answer) => {
    let id = 1;
    createInterface({ input: answer })
      .on('line', (line) => {
        const text = /"content":"([^"]*)"/.exec(line)?.[1];
        if (text !== undefined)
          response.write(`id: ${++id}\nevent: text_chunk\ndata: {"text":"${text}"}\n\n`);
      })
      .on('close', () => response.end());
  });
  asked.end(JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content }] }));
}

server.listen(0, '127.0.0.1', () => {
  console.log(`ready on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});
