import type { Route } from '../../src/channel/index.ts';
import type { ApiRequest } from './api.ts';

/** The people that the sample business API knows. */
export interface SamplePerson {
  id: string;
  name: string;
  email: string;
  plan: string;
  address: string;
  orders: SampleOrder[];
}

export interface SampleOrder {
  number: number;
  item: string;
  status: 'being packed' | 'shipped' | 'delivered' | 'canceled';
}

export const SAMPLE_PRODUCTS: readonly { name: string; about: string; price: string }[] = [
  { name: 'Analytical engine', about: 'brass, in four crates', price: '£17,470' },
  { name: 'Punched cards', about: '500, unpunched', price: '£2' },
  { name: 'Compiler', about: 'first edition, signed', price: '£120' },
];

export const SAMPLE_PEOPLE: readonly SamplePerson[] = [
  {
    id: 'ada',
    name: 'Ada Lovelace',
    email: 'ada@example.com',
    plan: 'gold',
    address: "12 St James's Square, London",
    orders: [
      { number: 1001, item: 'Analytical engine, brass', status: 'shipped' },
      { number: 1004, item: 'Punched cards, 500', status: 'being packed' },
    ],
  },
  {
    id: 'grace',
    name: 'Grace Hopper',
    email: 'grace@example.com',
    plan: 'silver',
    address: '1 Fleet Street, Arlington',
    orders: [
      { number: 1002, item: 'Compiler, first edition', status: 'delivered' },
      { number: 1005, item: 'Punched cards, 500', status: 'being packed' },
    ],
  },
  {
    id: 'alan',
    name: 'Alan Turing',
    email: 'alan@example.com',
    plan: 'free',
    address: '43 Adlington Road, Wilmslow',
    orders: [{ number: 1006, item: 'Compiler, first edition', status: 'being packed' }],
  },
];

/** The data that the shop can get about its people and its API. */
export interface ShopParts {
  /** A fresh token, as the company's website would sign it. Null if there is no such person, or no secret. */
  issueToken(person_id: string): Promise<string | null>;
  /** Requests to the sample API after the one with this number. Null if `API_BASE_URL` names a real API. */
  requestsAfter(number: number): readonly ApiRequest[] | null;
  /** Undoes all changes to the sample data. */
  restore(): void;
  /** Actions for a person, newest first. */
  listActions(person_id: string): Promise<readonly DoneAction[]>;
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
export function companyRoutes({
  issueToken,
  requestsAfter,
  listActions,
  restore,
  notFound,
}: ShopParts): Route[] {
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
      handle: async ({ params }) => ({ body: { actions: await listActions(params.person ?? '') } }),
    },
    {
      method: 'POST',
      path: '/demo/restore',
      // Another site cannot send this type without asking first.
      contentType: 'application/json',
      handle() {
        restore();
        return { status: 204 };
      },
    },
    {
      method: 'GET',
      path: '/demo/requests',
      handle: ({ query }) => ({ body: { requests: requestsAfter(Number(query.get('after')) || 0) } }),
    },
  ];
}
