/** Version of the Graph API that is spoken (https://developers.facebook.com/docs/graph-api/changelog). */
export const GRAPH_VERSION = 'v25.0';

/** Longest text of one message, in characters (Cloud API, "Text messages": `text.body`). */
export const TEXT_LIMIT = 4096;

/** `object` of a webhook that is about a WhatsApp business account. */
export const WEBHOOK_OBJECT = 'whatsapp_business_account';

/** The webhook field that people's messages and the statuses of ours come in. */
export const MESSAGES_FIELD = 'messages';
