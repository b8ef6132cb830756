import { expect, it } from 'vitest';
import { operatorLog } from '../../../src/daemon/admin/operator-call.ts';

it('the warnings of a call name the tool and the reason', () => {
  const notes: string[] = [];
  const log = operatorLog((text) => notes.push(text));
  log.warn({ tool: 'docs_find', because: 'the server does not list it' }, 'a tool is not offered');
  log.warn({ tool: 'docs_find', err: new Error('no route to host') }, 'tool failed unexpectedly');
  log.warn({ reason: 'no_jwt_context' }, 'tool uses default credentials: no_jwt_context');
  log.info('not shown');
  expect(notes).toEqual([
    'warning: a tool is not offered: docs_find: the server does not list it',
    'warning: tool failed unexpectedly: docs_find: no route to host',
    'warning: tool uses default credentials: no_jwt_context',
  ]);
});
