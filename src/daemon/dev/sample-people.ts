/** The people that the sample business API knows. */
export interface SamplePerson {
  id: string;
  name: string;
  email: string;
  plan: string;
  orders: { number: string; item: string; status: string }[];
}

export const SAMPLE_PEOPLE: readonly SamplePerson[] = [
  {
    id: 'ada',
    name: 'Ada Lovelace',
    email: 'ada@example.com',
    plan: 'gold',
    orders: [
      { number: '1001', item: 'Analytical engine, brass', status: 'shipped' },
      { number: '1004', item: 'Punched cards, 500', status: 'being packed' },
    ],
  },
  {
    id: 'grace',
    name: 'Grace Hopper',
    email: 'grace@example.com',
    plan: 'silver',
    orders: [{ number: '1002', item: 'Compiler, first edition', status: 'delivered' }],
  },
  {
    id: 'alan',
    name: 'Alan Turing',
    email: 'alan@example.com',
    plan: 'free',
    orders: [],
  },
];
