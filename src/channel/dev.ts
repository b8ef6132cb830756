/**
 * What `serve --dev` lends to channels, so that a page of theirs can be tried with nothing set up: people to
 * sign in as, and what the sample API was asked. There is none without `--dev`: a channel that has a page for
 * trying adds its routes only where its scope holds this.
 */
export interface DevCompany {
  people: readonly DevPerson[];
  /** A fresh user token, as the company's website would sign it; null where this daemon cannot sign one. */
  issueToken(person_id: string): Promise<string | null>;
  /**
   * What the sample API was asked, oldest first; the latest hundred are kept. Null where `API_BASE_URL` names
   * a real one. @param after number of the last that was seen
   */
  asked(after: number): readonly DevRequest[] | null;
}

export interface DevPerson {
  id: string;
  name: string;
  email: string;
}

/** One request to the sample API. It never holds a token. */
export interface DevRequest {
  /** 1, 2, 3, … */
  number: number;
  /** ms since the epoch */
  at: number;
  method: string;
  /** With its query. */
  path: string;
  /** Whose credentials it came with: a person's own, the default ones, or none that are valid. */
  credentials: 'user' | 'default' | 'none';
  /** E-mail address of whom the credentials are. */
  as: string | null;
  status: number;
}
