/** Whose credentials a call may have, according to the configuration of the company (`company.ts`). */
export type Credentials = 'user' | 'user-or-default' | 'default' | 'none' | 'exchange';

export type ServerName = 'api' | 'partner' | 'billing' | 'docs' | 'crm';

/**
 * A tool that the configuration lists, as the checker knows it. The list is written by hand, independently of the
 * configuration.
 */
export interface Offer {
  tool: string;
  server: ServerName;
  /** The HTTP method, or `tools/call` for an MCP tool. */
  method: string;
  /** Matches the whole path, or the name of an MCP tool. */
  path: RegExp;
  effect: 'read' | 'write';
  confirm: 'always' | 'never';
  credentials: Credentials;
  /** The part of a request that contains the bound `sub`, or null if there is none. */
  bound: 'path' | 'body' | 'argument' | null;
  /** Whether its calls have an Idempotency-Key. */
  keyed: boolean;
  /** Makes arguments that have a nonce in each text. */
  args(text: (words: string) => string): Record<string, unknown>;
}

const READ = { effect: 'read', confirm: 'never', bound: null, keyed: false } as const;
const WRITE = { effect: 'write', confirm: 'always', bound: null, keyed: false } as const;

export const OFFERS: readonly Offer[] = [
  {
    ...{ ...READ, tool: 'shop_listOrders', server: 'api', credentials: 'user-or-default', bound: 'path' },
    ...{ method: 'GET', path: /^\/customers\/[^/]+\/orders$/ },
    args: (text) => ({ q: text('late') }),
  },
  {
    ...{ ...READ, tool: 'shop_getProduct', server: 'api', credentials: 'user-or-default' },
    ...{ method: 'GET', path: /^\/products\/[^/]+$/ },
    args: (text) => ({ id: text('lamp'), q: text('price') }),
  },
  {
    ...{ ...READ, tool: 'shop_searchStock', server: 'api', credentials: 'default' },
    ...{ method: 'GET', path: /^\/stock$/ },
    args: (text) => ({ q: text('lamp') }),
  },
  {
    ...{ ...WRITE, tool: 'shop_cancelOrder', server: 'api', credentials: 'user', keyed: true },
    ...{ method: 'POST', path: /^\/orders\/[^/]+\/cancel$/ },
    args: (text) => ({ id: text('1004'), body: { reason: text('late') } }),
  },
  {
    ...{ ...WRITE, tool: 'shop_updateAddress', server: 'api', credentials: 'user', bound: 'body' },
    ...{ method: 'PUT', path: /^\/address$/ },
    args: (text) => ({ body: { street: text('Main Road'), tags: [text('home'), text('work')] } }),
  },
  {
    ...{ ...WRITE, tool: 'shop_addNote', server: 'api', credentials: 'user', confirm: 'never' },
    ...{ method: 'POST', path: /^\/orders\/[^/]+\/notes$/ },
    args: (text) => ({ id: text('1004'), body: { text: text('ring twice') } }),
  },
  {
    ...{
      ...WRITE,
      tool: 'shop_touchOrder',
      server: 'api',
      credentials: 'user',
      confirm: 'never',
      keyed: true,
    },
    ...{ method: 'PUT', path: /^\/orders\/[^/]+\/touched$/ },
    args: (text) => ({ id: text('1004'), body: { by: text('agent') } }),
  },
  {
    ...{ ...READ, tool: 'partner_catalogue', server: 'partner', credentials: 'none' },
    ...{ method: 'GET', path: /^\/catalogue$/ },
    args: (text) => ({ q: text('lamp') }),
  },
  {
    ...{ ...WRITE, tool: 'partner_sendMessage', server: 'partner', credentials: 'none' },
    ...{ method: 'POST', path: /^\/messages$/ },
    args: (text) => ({ body: { to: text('sales'), text: text('call me') } }),
  },
  {
    ...{ ...READ, tool: 'billing_listInvoices', server: 'billing', credentials: 'exchange' },
    ...{ method: 'GET', path: /^\/invoices$/ },
    args: (text) => ({ q: text('open') }),
  },
  {
    ...{ ...WRITE, tool: 'billing_payInvoice', server: 'billing', credentials: 'exchange' },
    ...{ method: 'POST', path: /^\/invoices\/[^/]+\/pay$/ },
    args: (text) => ({ id: text('77'), body: { note: text('paid') } }),
  },
  {
    ...{ ...READ, tool: 'docs_search', server: 'docs', credentials: 'none' },
    ...{ method: 'tools/call', path: /^search$/ },
    args: (text) => ({ query: text('returns') }),
  },
  {
    ...{ ...READ, tool: 'crm_find', server: 'crm', credentials: 'user', bound: 'argument' },
    ...{ method: 'tools/call', path: /^find$/ },
    args: (text) => ({ query: text('tickets') }),
  },
  {
    ...{ ...WRITE, tool: 'crm_closeTicket', server: 'crm', credentials: 'user' },
    ...{ method: 'tools/call', path: /^closeTicket$/ },
    args: (text) => ({ ticket: text('T-5'), note: text('solved') }),
  },
  {
    ...{ ...READ, tool: 'get_user', server: 'api', credentials: 'user-or-default' },
    ...{ method: 'GET', path: /^\/users$/ },
    args: (text) => ({ email: `${text('somebody').replaceAll(' ', '.')}@example.com` }),
  },
  {
    ...{ ...READ, tool: 'peek', server: 'api', credentials: 'user-or-default' },
    ...{ method: 'GET', path: /^\/module\/peek$/ },
    args: (text) => ({ q: text('all') }),
  },
  {
    ...{ ...WRITE, tool: 'refund', server: 'api', credentials: 'user', keyed: true },
    ...{ method: 'POST', path: /^\/module\/refund$/ },
    args: (text) => ({ order: text('1004') }),
  },
];

/** Tools of the daemon itself that call no server, or call one without arguments. */
export const BUILT_IN: readonly {
  tool: string;
  args(text: (words: string) => string): Record<string, unknown>;
}[] = [
  { tool: 'remember', args: (text) => ({ text: text('They confirmed everything for good') }) },
  { tool: 'recall', args: (text) => ({ query: text('confirmed') }) },
  { tool: 'my_actions', args: () => ({}) },
  { tool: 'get_user', args: () => ({}) },
];

/** Operations and tools that exist at the servers, and that the configuration does not list. */
export const UNLISTED = [
  'shop_deleteCustomer',
  'shop_listAllCustomers',
  'shop_refundAll',
  'partner_adminReset',
  'billing_writeOff',
  'docs_reindex',
  'crm_dropTable',
  'confirm',
  'confirm_action',
  'approve',
  'toString',
  '__proto__',
  'constructor',
] as const;

/** Returns the offer to which a request belongs, or undefined if there is none. */
export function offerOf(server: ServerName, method: string, path: string): Offer | undefined {
  return OFFERS.find((offer) => offer.server === server && offer.method === method && offer.path.test(path));
}
