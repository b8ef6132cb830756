import { drive, type LoadOrder } from '../load.ts';
import { QUESTION, sessionId, tokenOf, userId } from './people.ts';

export interface ChatOrder extends LoadOrder {
  people: number;
  /** Expiry of the tokens, seconds since the epoch. */
  exp: number;
}

/**
 * Step from one person to the next, so that consecutive requests are not neighbors on disk. It is a prime, so that
 * everybody is reached.
 */
const STRIDE = 7919;

/**
 * Waits for an order from the parent process, carries it out, and sends back the result. People write in turn, each in
 * their own session.
 */
process.once('message', async (order: ChatOrder) => {
  process.send?.(await drive(order, requests(order)));
  process.disconnect();
});

/**
 * Returns a function that makes the next request. No two messages are alike, and nobody writes often enough to reach a
 * limit, so nothing is refused.
 */
function requests({ people, exp }: ChatOrder): () => string {
  const parts = Array.from({ length: people }, (_, person) => partsOf(person, exp));
  let count = 0;
  return () => {
    const [before, after] = parts[(count * STRIDE) % people] ?? ['', ''];
    return `${before}${String(count++).padStart(8, '0')}${after}`;
  };
}

/** The two parts of a request around the eight digits in its middle. The body has about 330 bytes. */
function partsOf(person: number, exp: number): [before: string, after: string] {
  const body = JSON.stringify({
    user_id: userId(person),
    message: QUESTION,
    session_id: sessionId(person),
    metadata: {
      page_url: 'https://shop.example.com/orders',
      user_name: 'Ada',
      user_agent: 'Mozilla/5.0 (X11)',
    },
  });
  const [before = '', after = ''] = body.split('########');
  const head = [
    'POST /webchat/message HTTP/1.1',
    'Host: 127.0.0.1',
    'Content-Type: application/json',
    `Authorization: Bearer ${tokenOf(person, exp)}`,
    `Content-Length: ${body.length}`,
  ];
  return [`${head.join('\r\n')}\r\n\r\n${before}`, after];
}
