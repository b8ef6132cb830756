import { type ChannelSettings, readSecret } from 'agentd/channel';

/** An id on the platform: of a message, a person, a room or a thread. */
export const ID = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The settings of an active channel. The daemon has checked their kinds, and that all required settings have values.
 */
export function readSettings(settings: ChannelSettings): { token: string; secret: string; api_url: string } {
  return {
    token: readSecret(settings, 'PIGEONPOST_TOKEN'),
    secret: readSecret(settings, 'PIGEONPOST_SECRET'),
    api_url: String(settings.PIGEONPOST_API_URL).replace(/\/+$/, ''),
  };
}
