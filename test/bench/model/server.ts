import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * A model on an OpenAI-compatible server. It waits for a while, and then sends the current time: `at=<µs> `, by the
 * clock that all processes of the machine share. Then it sends more words, as models do.
 */
const THINKS_MS = { least: 200, most: 600 };
const WORDS = 20;
const BETWEEN_WORDS_MS = 20;

const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    answer(response).catch((error: Error) => response.destroy(error));
  });
});

async function answer(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  await delay(THINKS_MS.least + Math.random() * (THINKS_MS.most - THINKS_MS.least));
  say(response, { content: `at=${process.hrtime.bigint() / 1000n} ` });
  for (let word = 0; word < WORDS && !response.destroyed; word++) {
    await delay(BETWEEN_WORDS_MS);
    say(response, { content: 'word ' });
  }
  say(response, {}, 'stop');
  response.end('data: [DONE]\n\n');
}

function say(response: ServerResponse, delta: object, finish_reason: string | null = null): void {
  const choices = [{ index: 0, delta, finish_reason }];
  const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices };
  response.write(`data: ${JSON.stringify(chunk)}\n\n`);
}

server.listen(0, '127.0.0.1', () => {
  console.log(`ready on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});
