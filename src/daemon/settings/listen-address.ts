/** Where to listen. Without a host: on every address of the machine. */
export interface ListenAddress {
  host: string | undefined;
  port: number;
}

const FORM = /^(?:\[([\dA-Fa-f:.]+)\]|([\w.-]*)):(\d{1,5})$/;
const PORT_MAX = 65_535;

/** Reads `127.0.0.1:9464`, `[::1]:9464`, `localhost:9464` or `:9464`; null if the text has another form. */
export function parseListenAddress(text: string): ListenAddress | null {
  const [match, bracketed, plain, digits] = FORM.exec(text) ?? [];
  const port = Number(digits);
  if (match === undefined || port > PORT_MAX) return null;
  return { host: bracketed ?? (plain || undefined), port };
}
