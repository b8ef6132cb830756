import type { ChannelRequest, StreamTokens } from '../../channel/index.ts';
import type { Services } from '../services.ts';
import { admitAgain, admitReader, findStream } from './admit-reader.ts';
import { completed, started } from './events.ts';
import { Recorder } from './recorder.ts';
import { refuseForeignPage } from './refuse-foreign-page.ts';

/** How long whoever stops a stream waits to see its end, ms. */
const END_WAIT_MS = 5000;

/** A stream that nobody has opened stays whose it was. */
const NOBODY = { owner: null, reader: null } as const;

/**
 * Stops a stream: what was said so far is the reply. One that was never opened ends without a word; one that
 * has ended stays as it is. Resolves when it has ended.
 * @throws `stream_not_found`, `token_missing`, `forbidden`.
 */
export async function stopStream(
  services: Services,
  stream_id: string,
  request: ChannelRequest,
  tokens: StreamTokens,
): Promise<void> {
  const stream = await findStream(services, stream_id);
  refuseForeignPage(request, tokens, services.settings);
  await admitReader(services, stream, request, { tokens, after: 0 });
  if (stream.state === 'ended') return;
  const { session_id } = stream.start;
  if (stream.state === 'waiting' && (await services.store.streams.claim(stream_id, NOBODY))) {
    const recorder = new Recorder(services.store.streams, stream_id, services.log);
    try {
      await recorder.end([
        started({ stream_id, session_id }),
        ...completed({ stream_id, session_id, response: '', stopped: true }),
      ]);
    } finally {
      await services.store.streams.release(stream_id);
    }
    return;
  }
  if (stream.state === 'waiting') await admitAgain(services, stream_id, request, { tokens, after: 0 });
  await services.store.streams.askToStop(stream_id);
  const end = { take: () => true, room: () => Promise.resolve(), signal: AbortSignal.timeout(END_WAIT_MS) };
  await services.feeds.follow(stream_id, stream.last_event, end);
}
