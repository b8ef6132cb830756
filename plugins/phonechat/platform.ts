/** Version of the Graph API (https://developers.facebook.com/docs/graph-api/changelog). */
export const GRAPH_VERSION = 'v25.0';

/** Maximum length of one message, in characters (Cloud API, "Text messages": `text.body`). */
export const TEXT_LIMIT = 4096;

/** Value of `object` in webhooks for WhatsApp business accounts. */
export const WEBHOOK_OBJECT = 'whatsapp_business_account';

/** Webhook field for messages and their statuses. */
export const MESSAGES_FIELD = 'messages';

/** Path to which the platform delivers webhooks. */
export const WEBHOOK_PATH = '/webhook/phonechat';
