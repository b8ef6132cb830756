const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' };

/** The words of a text in the platform's HTML, for when it cannot read the markup. */
export function plainText(html: string): string {
  return html
    .replace(/<[^<>]*>/g, '')
    .replace(/&(lt|gt|amp|quot);/g, (entity, name: string) => ENTITIES[name] ?? entity);
}
