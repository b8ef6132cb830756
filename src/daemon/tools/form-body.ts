import type { EncodedBody } from './downstream/encoded-body.ts';

/** A form with the type `application/x-www-form-urlencoded`. @param pairs encoded pairs, as `name=value` */
export function formBody(pairs: readonly string[]): EncodedBody {
  const text = pairs.join('&');
  return { content_type: 'application/x-www-form-urlencoded', content: text, shown: text };
}
