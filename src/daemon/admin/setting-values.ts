/** How the values of settings are written and shown. Secrets are never shown. */

export { fileSettingOf } from '../settings/file-setting.ts';
export { parseListenAddress } from '../settings/listen-address.ts';
export { maskSecrets } from '../settings/mask-secrets.ts';
export { SECRET_SHOWN, withoutSecrets } from '../settings/shown.ts';
