import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { onAbort } from '../../../src/daemon/time/time-limit.ts';

it('onAbort calls a function once for each time that it was added, with only one listener on the signal', () => {
  const stopping = new AbortController();
  const called: string[] = [];
  const listener = () => called.push('twice given');
  onAbort(stopping.signal, listener);
  onAbort(stopping.signal, listener);
  onAbort(stopping.signal, () => called.push('another'));
  expect(getEventListeners(stopping.signal, 'abort')).toHaveLength(1);
  stopping.abort();
  stopping.abort();
  expect(called).toEqual(['twice given', 'twice given', 'another']);
});

it('onAbort does not call a function that was removed, even if another function removed it during the abort', () => {
  const stopping = new AbortController();
  const called: string[] = [];
  const noMore = onAbort(stopping.signal, () => called.push('gone'));
  noMore();
  onAbort(stopping.signal, () => later());
  const later = onAbort(stopping.signal, () => called.push('taken away'));
  stopping.abort();
  expect(called).toEqual([]);
});

it('onAbort has no listener on the signal if no function waits', () => {
  const { signal } = new AbortController();
  const [one, another] = [onAbort(signal, () => {}), onAbort(signal, () => {})];
  one();
  one();
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  another();
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  onAbort(signal, () => {});
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
});

it('onAbort does not call a function if the signal was already aborted', () => {
  const called: string[] = [];
  onAbort(AbortSignal.abort(), () => called.push('late'));
  expect(called).toEqual([]);
});
