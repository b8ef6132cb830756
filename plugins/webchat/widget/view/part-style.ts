/** Adds the style sheet of a part to the widget, once. */
export function addStyle(inside: Element, style: string): void {
  const root = inside.getRootNode() as ShadowRoot;
  const sheet = sheets.get(style) ?? new CSSStyleSheet();
  sheets.set(style, sheet);
  sheet.replaceSync(style);
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
}

const sheets = new Map<string, CSSStyleSheet>();
