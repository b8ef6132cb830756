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
  number: string;
  item: string;
  status: 'being packed' | 'shipped' | 'delivered' | 'canceled';
}

/** The products of the sample shop. */
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
      { number: '1001', item: 'Analytical engine, brass', status: 'shipped' },
      { number: '1004', item: 'Punched cards, 500', status: 'being packed' },
    ],
  },
  {
    id: 'grace',
    name: 'Grace Hopper',
    email: 'grace@example.com',
    plan: 'silver',
    address: '1 Fleet Street, Arlington',
    orders: [{ number: '1002', item: 'Compiler, first edition', status: 'delivered' }],
  },
  {
    id: 'alan',
    name: 'Alan Turing',
    email: 'alan@example.com',
    plan: 'free',
    address: '43 Adlington Road, Wilmslow',
    orders: [],
  },
];
