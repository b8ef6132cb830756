/** The setting that names the file of a secret: `JWT_SECRET_KEY_FILE`. */
export function fileSettingOf(secret: string): string {
  return `${secret}_FILE`;
}
