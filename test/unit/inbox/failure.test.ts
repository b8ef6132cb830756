import { expect, it } from 'vitest';
import { AgentFailure } from '../../../src/daemon/agent/agent.ts';
import { AgentdError, StoreUnavailable } from '../../../src/daemon/errors.ts';
import { failureOfDelivery, failureOfRun, isFinal } from '../../../src/daemon/inbox/failure.ts';
import { token } from '../../harness/tokens.ts';

const agentFailed = (reason: string) =>
  new AgentdError('agent_failed', 'The agent could not answer.', {
    cause: new AgentFailure(reason, 'words'),
  });

it.each([
  ['a request that the model refused', agentFailed('model_refused'), true, 'agent_failed: model_refused'],
  ['a message that was refused', new AgentdError('session_forbidden', 'no'), true, 'session_forbidden'],
  ['an overloaded model', agentFailed('model_overloaded'), false, 'agent_failed: model_overloaded'],
  ['a run that took too long', new AgentdError('agent_timeout', 'slow'), false, 'agent_timeout'],
  ['a store out of reach', new StoreUnavailable(new Error('disk full')), false, 'unavailable'],
  ['a defect', new TypeError('x is not a function'), false, 'internal_error: TypeError'],
])(
  'after %s it is known whether another run can help, and why it failed',
  (_title, error, final, failure) => {
    expect(isFinal(error)).toBe(final);
    expect(failureOfRun(error)).toBe(failure);
  },
);

it("keeps a delivery's failure in the platform's words, bounded, without tokens", async () => {
  expect(failureOfDelivery('refused', new Error(`no ${await token()}`))).toBe('delivery_refused: no [token]');
  expect(failureOfDelivery('failed', new Error('x'.repeat(1000)))).toHaveLength(500);
  expect(failureOfDelivery('failed', 'busy')).toBe('delivery_failed: busy');
});
