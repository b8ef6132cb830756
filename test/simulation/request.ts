import { ReceivedRequest } from '../../src/daemon/http/received-request.ts';

/** A request, in the form that channels pass back to the daemon, but without a connection. */
export function simulatedRequest(id: string, signal: AbortSignal): ReceivedRequest {
  const request = Object.create(ReceivedRequest.prototype, { signal: { value: signal } }) as ReceivedRequest;
  return Object.assign(request, {
    id,
    method: 'GET',
    path: '/',
    params: {},
    headers: {},
    body: new Uint8Array(),
    address: '192.0.2.1',
    ticket: null,
    validated: null,
  });
}
