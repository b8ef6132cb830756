import { type AddedHit, type Hits, hitsOf, listHits } from '../../guard/hits.ts';
import type { GuardUserState, MessageHit } from '../../guard/judge.ts';

/**
 * An added hit as JSON: when it happened, how much later it was counted (ms), and how many old hits were dropped when
 * it was added.
 */
export type PackedHit = [at: number, late?: number, dropped?: number];

/**
 * Hits as JSON. `steps`: the time of the first hit, then the interval from each hit to the next. `late`: how much later
 * each hit was counted (ms); absent if none was counted later.
 */
export type PackedHits = [steps: number[], late?: number[]];

export function packHit({ hit: { at, counted_at }, dropped }: AddedHit): PackedHit {
  if (dropped > 0) return [at, counted_at - at, dropped];
  return counted_at > at ? [at, counted_at - at] : [at];
}

export function unpackHit([at, late = 0, dropped = 0]: PackedHit): AddedHit {
  return { hit: { at, counted_at: at + late }, dropped };
}

export function packHits(hits: Hits): PackedHits {
  let before = 0;
  const list = listHits(hits);
  const steps = list.map(({ at }) => {
    const step = at - before;
    before = at;
    return step;
  });
  if (list.every(({ at, counted_at }) => counted_at <= at)) return [steps];
  return [steps, list.map(({ at, counted_at }) => counted_at - at)];
}

export function unpackHits([steps, late]: PackedHits): Hits {
  let at = 0;
  const list = steps.map((step, place) => {
    at += step;
    return { at, counted_at: at + (late?.[place] ?? 0) };
  });
  return hitsOf(list);
}

/** An added message as JSON: its text and its hit. */
export type PackedMessage = [text: string, ...hit: PackedHit];

export function packMessage(added: AddedHit<MessageHit>): PackedMessage {
  return [added.hit.text, ...packHit(added)];
}

export function unpackMessage([text, ...packed]: PackedMessage): AddedHit<MessageHit> {
  const { hit, dropped } = unpackHit(packed);
  return { hit: { ...hit, text }, dropped };
}

/** The state that the guard stores about a user, as JSON. */
export interface PackedUser {
  user: GuardUserState['user'];
  circuit?: GuardUserState['circuit'];
  hits: PackedHits;
  /** The texts of the messages, in the order of `hits`. */
  texts: string[];
}

export function packUser({ user, circuit, messages }: GuardUserState): PackedUser {
  return {
    user,
    ...(circuit && { circuit }),
    hits: packHits(messages),
    texts: listHits(messages).map(({ text }) => text),
  };
}

export function unpackUser({ user, circuit, hits, texts }: PackedUser): GuardUserState {
  const messages = listHits(unpackHits(hits)).map((hit, place) => ({ ...hit, text: texts[place] ?? '' }));
  return { user, circuit: circuit ?? null, messages: hitsOf(messages) };
}
