import { recordingRecord } from '../agent/recording.ts';
import { commentRecord } from '../feedback/rate-answer.ts';
import { parseKeyId, type Seal } from '../identity/seal.ts';
import { codeRecord } from '../linking/link-ids.ts';
import { tokenRecord } from '../message/create-stream.ts';
import type { Log } from '../process/log.ts';
import { sealRecord } from '../session/jwt-context.ts';
import type { StoredToken } from '../store/persons/stored-tokens.ts';
import type { Store } from '../store/store.ts';
import { type AlarmClock, every } from '../time/clock.ts';
import { actionTextRecord } from '../tools/journal/action-record.ts';

/** How often the keys are checked, ms. */
const LOOK_MS = 5000;
/** Wait after a pass that failed or sealed something, ms: a turn in progress may have stored an old value. */
const AGAIN_MS = 60_000;
/** Number of texts that are replaced at a time. A message waits for at most one of these batches. */
const BITE = 50;
/**
 * How often a pass runs while there is an earlier key, ms. Another pass is needed because a command that read the keys
 * before they changed may still have sealed a text with the earlier key.
 */
const PASS_MS = 60 * 60 * 1000;

export interface SealingServices {
  store: Pick<Store, 'storedTokens' | 'replaceToken' | 'recordings'>;
  seal: Seal;
  clock: AlarmClock;
  log: Pick<Log, 'info' | 'warn'>;
  /**
   * Whether all daemons on the store have the same keys in the same order now. While they do not, the daemons would
   * seal each other's texts again forever, and one without a key could not open what another has sealed.
   */
  agrees(): Promise<boolean>;
}

/**
 * Seals stored texts with the first key, in the background: texts that were stored before there was a key, and texts
 * that an earlier key has sealed. Runs after the start, after the keys have changed, and regularly while there are
 * several. Each text is replaced separately, and only if it has not changed, so that a crash loses nothing.
 * @returns a function that stops it.
 */
export function startSealing({ store, seal, clock, log, agrees }: SealingServices): () => Promise<void> {
  let stopped = false;
  let keys = '';
  let due = 0;

  const look = async () => {
    const marks = seal.marks;
    if (marks.length === 0) return;
    const now = clock.steady?.() ?? clock.now();
    if (marks.join() !== keys) {
      keys = marks.join();
      due = now;
    }
    if (now < due) return;
    try {
      if (!(await agrees())) return;
      const count = await pass(marks[0] as string);
      due = now + (count > 0 ? AGAIN_MS : marks.length > 1 ? PASS_MS : Infinity);
      const key = parseKeyId(marks[0] as string);
      if (count > 0) log.info({ count, key }, 'sealed stored texts with the first key');
    } catch (error) {
      due = now + AGAIN_MS;
      log.warn({ err: error }, 'could not seal all stored tokens with the first key; will try again');
    }
  };

  /** A text that no key opens stays as it is. */
  const reseal = async (text: StoredToken) => {
    const record = sealedRecord(text);
    const opened = seal.open(text.token, record);
    return opened !== null && store.replaceToken(text, seal.close(opened, record));
  };

  const pass = async (mark: string) => {
    let count = 0;
    for await (const texts of store.storedTokens(mark)) {
      for (let index = 0; index < texts.length && !stopped; index += BITE)
        count += (await Promise.all(texts.slice(index, index + BITE).map(reseal))).filter(Boolean).length;
      if (stopped) return count;
    }
    for await (const turn_id of store.recordings.sealedUnlike(mark)) {
      if (stopped) break;
      if (await resealRecording(turn_id)) count++;
    }
    return count;
  };

  /** One at a time, because a recording may have several megabytes. */
  const resealRecording = async (turn_id: string) => {
    const record = recordingRecord(turn_id);
    const content = (await store.recordings.find(turn_id))?.content;
    const opened = content === undefined ? null : seal.open(content, record);
    return opened !== null && store.recordings.reseal(turn_id, content as string, seal.close(opened, record));
  };

  const first = look();
  const stop = every(clock, LOOK_MS, () => first.then(look));
  return async () => {
    stopped = true;
    await first;
    await stop();
  };
}

/**
 * The record that a stored token belongs to. A token that is sealed for one record cannot be opened for any other
 * record.
 */
export function sealedRecord(token: StoredToken): string {
  switch (token.kind) {
    case 'link':
      return token.key;
    case 'session':
      return sealRecord(token.tag, token.user_id);
    case 'stream':
      return tokenRecord(token.stream_id);
    case 'code':
      return codeRecord(token.code_id);
    case 'action':
      return actionTextRecord(token.action_id, token.field);
    case 'feedback':
      return commentRecord(token.turn_id);
  }
}
