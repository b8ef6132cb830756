const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' };

/** Converts the platform's HTML to plain text, in case the platform cannot read the markup. */
export function plainText(html: string): string {
  return html
    .replace(/<[^<>]*>/g, '')
    .replace(/&(lt|gt|amp|quot);/g, (entity, name: string) => ENTITIES[name] ?? entity);
}
