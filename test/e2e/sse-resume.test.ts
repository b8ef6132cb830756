import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { Dictation } from '../support/dictation.ts';
import { effort } from '../support/effort.ts';
import { eventsIn, read, readAll, type Seen, start } from '../support/event-stream.ts';
import { seededRandom } from '../support/random.ts';

let dictation: Dictation;
let daemon: DaemonHere;

beforeAll(async () => {
  dictation = await Dictation.start();
  daemon = await startDaemonHere({ env: { ...dictation.env, SSE_ENABLED: 'true' } });
});

describe('a reader that reconnects', () => {
  it('gets each event once and in order through hundreds of interruptions of running streams', async () => {
    const random = seededRandom(1);
    const wanted = effort(100, 1000);
    let cuts = 0;
    while (cuts < wanted) {
      const stream_id = await start(daemon.url, { user_id: 'ada', message: 'count 100' });
      const seen: Seen[] = [];
      for (;;) {
        const id = seen.at(-1)?.id;
        const { status, text } = await read(daemon.url, stream_id, {
          ...(id === undefined ? {} : { headers: { 'Last-Event-ID': id } }),
          cutAfter: 1 + random.below(2500),
        }).ended;
        if (status === 204) break;
        expect(status).toBe(200);
        seen.push(...eventsIn(text));
        cuts++;
        if (seen.at(-1)?.event === 'stream_complete') break;
      }
      const words = Array.from({ length: 100 }, (_, index) => `word${index + 1} `).join('');
      expect(seen.map(({ id }) => Number(id))).toEqual(seen.map((_, index) => index + 1));
      const said = seen.filter(({ event }) => event === 'text_chunk').map(({ data }) => data.text);
      expect(said.join('')).toBe(words);
      expect(seen.at(-1)?.data.response).toBe(words);
    }
  }, 240_000);

  it('can be the EventSource of Node.js, which reconnects by itself, and stops at 204', async () => {
    const stream_id = await start(daemon.url, { user_id: 'ada', message: 'count 3' });
    const script = `
      const seen = [];
      const source = new EventSource('${daemon.url}/sse/stream/${stream_id}');
      for (const name of ['stream_start', 'text_chunk', 'complete', 'stream_complete'])
        source.addEventListener(name, (event) => seen.push(event.lastEventId + ' ' + name));
      // The client does not close the stream at its end, so it reconnects. The timer of EventSource does not keep
      // the process alive.
      const waiting = setInterval(() => {}, 1000);
      source.onerror = () => {
        if (source.readyState !== EventSource.CLOSED) return;
        console.log(JSON.stringify(seen));
        clearInterval(waiting);
      };`;
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--no-warnings',
      '--experimental-eventsource',
      '--eval',
      script,
    ]);
    const { events } = await readAll(daemon.url, stream_id);
    expect(JSON.parse(stdout)).toEqual(events.map(({ id, event }) => `${id} ${event}`));
  });
});

describe('a reader that does not read', () => {
  it('delays neither the run nor the other readers, and gets every event when it reads again', async () => {
    const stream_id = await start(daemon.url, { user_id: 'ada', message: 'slow reader' });
    const slow = Array.from({ length: 20 }, () => read(daemon.url, stream_id));
    for (const { socket } of slow) socket.pause();
    const quick = read(daemon.url, stream_id);
    const piece = 'x'.repeat(9_000);
    for (let number = 0; number < 10; number++) {
      dictation.say('slow reader', `${piece}${number} `);
      await quick.holds(`${number} "`);
    }
    dictation.end('slow reader');
    expect(eventsIn((await quick.ended).text).at(-1)?.event).toBe('stream_complete');
    for (const { socket } of slow) socket.resume();
    for (const { ended } of slow) {
      expect(eventsIn((await ended).text)).toEqual(eventsIn(quick.text()));
    }
  });
});
