const ORDER = {
  type: 'object',
  properties: {
    number: { type: 'integer' },
    item: { type: 'string' },
    status: { type: 'string' },
  },
} as const;

const json = (description: string, schema: object) => ({
  description,
  content: { 'application/json': { schema } },
});

/**
 * The OpenAPI document of the sample API. It omits the token endpoint, and the look-up of users, which the tool
 * `get_user` calls.
 */
export const SAMPLE_DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Babbage & Daughters', version: '1.0.0' },
  paths: {
    '/products': {
      get: {
        operationId: 'listProducts',
        summary: 'Products',
        description: 'What the shop sells.',
        responses: { 200: json('The products.', { type: 'array', items: { type: 'object' } }) },
      },
    },
    '/orders': {
      get: {
        operationId: 'listOrders',
        summary: 'My orders',
        description: 'The orders of the person who asks.',
        responses: { 200: json('The orders.', { type: 'array', items: ORDER }) },
      },
    },
    '/orders/{number}/cancel': {
      post: {
        operationId: 'cancelOrder',
        summary: 'Cancel order',
        description: 'Cancels an order of the person who asks, if it has not been shipped yet.',
        parameters: [
          {
            name: 'number',
            in: 'path',
            required: true,
            description: 'Number of the order.',
            schema: { type: 'integer', minimum: 1000, maximum: 9999 },
          },
        ],
        responses: {
          200: json('The order, canceled.', ORDER),
          404: { description: 'The person has no such order.' },
          409: { description: 'The order has already been shipped.' },
        },
      },
    },
    '/address': {
      put: {
        operationId: 'changeAddress',
        summary: 'Change address to',
        description: 'Changes the address that orders of the person are sent to.',
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                required: ['address'],
                properties: { address: { type: 'string', minLength: 5, maxLength: 200 } },
              },
            },
          },
        },
        responses: { 200: json('The new address.', { type: 'object' }) },
      },
    },
  },
} as const;

/** The entry under `tools:` with which the agent gets the sample API, without the path of the document. */
export const SAMPLE_TOOLS = {
  name: 'shop',
  operations: {
    listProducts: { public: 'all' },
    listOrders: { credentials: 'user' },
    cancelOrder: { summary: 'Cancel order {number}', confirm_label: 'Cancel order' },
    changeAddress: { summary: 'Change your address to {body.address}', confirm_label: 'Change address' },
  },
} as const;
