import { expect, it } from 'vitest';
import { nearest } from '../../../src/daemon/settings/nearest.ts';

it.each([
  ['WEBCHAT_ENABLED', 0],
  ['WEBCHAT_ENABLD', 1],
  ['WEBCHAT_EENABLED', 1],
  ['VEBCHAT_ENABLED', 1],
  ['EWBCHAT_ENABLED', 1],
  ['WEBCHAT_ENABLDE', 1],
  ['EWBCHAT_ENABLDE', 2],
  ['XXWEBCHAT_ENABLED', 2],
  ['WEBCHAT_ENABL', 2],
])('nearest finds that %s differs from WEBCHAT_ENABLED by %i typing errors', (word, distance) => {
  expect(nearest(word, ['SSE_ENABLED', 'WEBCHAT_ENABLED'], 2)).toEqual({ name: 'WEBCHAT_ENABLED', distance });
});

it.each(['EWBCHTA_ENABLDE', 'WEBCHAT', 'CHATWEB_ENABLED'])(
  'nearest finds no name that is similar to %s',
  (word) => {
    expect(nearest(word, ['SSE_ENABLED', 'WEBCHAT_ENABLED'], 2)).toBeUndefined();
  },
);
