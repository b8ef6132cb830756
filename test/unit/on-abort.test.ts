import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { onAbort } from '../../src/daemon/on-abort.ts';

it('calls all who wait, once each, over one listener of the signal', () => {
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

it('calls nobody who waits no more, also where another takes the listener away meanwhile', () => {
  const stopping = new AbortController();
  const called: string[] = [];
  const noMore = onAbort(stopping.signal, () => called.push('gone'));
  noMore();
  onAbort(stopping.signal, () => later());
  const later = onAbort(stopping.signal, () => called.push('taken away'));
  stopping.abort();
  expect(called).toEqual([]);
});

it('holds no listener while nobody waits', () => {
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

it('calls nobody where the signal aborted before', () => {
  const called: string[] = [];
  onAbort(AbortSignal.abort(), () => called.push('late'));
  expect(called).toEqual([]);
});
