/** Version of the Graph API (https://developers.facebook.com/docs/graph-api/changelog). */
export const GRAPH_VERSION = 'v25.0';

/** Longest text of one message, characters (Cloud API, "Text messages": `text.body`). */
export const TEXT_LIMIT = 4096;

/** `object` of webhooks for WhatsApp business accounts. */
export const WEBHOOK_OBJECT = 'whatsapp_business_account';

/** Webhook field of messages and message statuses. */
export const MESSAGES_FIELD = 'messages';

/** Where the platform delivers. */
export const WEBHOOK_PATH = '/webhook/phonechat';
