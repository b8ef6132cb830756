import type { Services } from './services.ts';

/** The services for the work of one request: the id of the request is in their log lines. */
export function forRequest<Some extends Pick<Services, 'log' | 'tokens'>>(
  services: Some,
  request_id: string,
): Some {
  const { log, tokens } = services;
  return {
    ...services,
    log: log.child({ request_id }),
    tokens: { validate: (token) => tokens.validate(token, request_id) },
  };
}
