import type { Route } from '../../src/channel/index.ts';
import type { ApiRequest } from './api.ts';
import { SAMPLE_PEOPLE } from './people.ts';

/** The data that the shop can get about its people and its API. */
export interface ShopParts {
  /** A fresh token, as the company's website would sign it. Null if there is no such person, or no secret. */
  issueToken(person_id: string): Promise<string | null>;
  /** Requests to the sample API after the one with this number. Null if `API_BASE_URL` names a real API. */
  requestsAfter(number: number): readonly ApiRequest[] | null;
  /** Actions for a person, newest first. */
  actionsOf(person_id: string): Promise<readonly DoneAction[]>;
  /** Makes the problem to throw if there is no such thing. */
  notFound(detail: string): Error;
}

/** One line of the journal, as the shop shows it. */
export interface DoneAction {
  /** ms since the epoch */
  at: number;
  summary: string;
  outcome: string;
}

/** The routes from which the page of the shop gets its data: people, their tokens and actions, requests to the API. */
export function companyRoutes({ issueToken, requestsAfter, actionsOf, notFound }: ShopParts): Route[] {
  const people = SAMPLE_PEOPLE.map(({ id, name, email }) => ({ id, name, email }));
  return [
    { method: 'GET', path: '/demo/people', handle: () => ({ body: { people } }) },
    {
      method: 'GET',
      path: '/demo/token/:person',
      async handle({ params }) {
        const token = await issueToken(params.person ?? '');
        if (token === null) throw notFound('There is no such person, or no secret to sign with.');
        return { body: { token } };
      },
    },
    {
      method: 'GET',
      path: '/demo/actions/:person',
      handle: async ({ params }) => ({ body: { actions: await actionsOf(params.person ?? '') } }),
    },
    {
      method: 'GET',
      path: '/demo/requests',
      handle: ({ query }) => ({ body: { requests: requestsAfter(Number(query.get('after')) || 0) } }),
    },
  ];
}
