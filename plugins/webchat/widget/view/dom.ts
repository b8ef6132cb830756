type Attributes = Readonly<Record<string, string | number | boolean>>;

/** An element with attributes (`true`: present, `false`: absent) and children. Strings become text nodes only. */
export function h<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  set(made, attributes);
  made.append(...children);
  return made;
}

export function set(target: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false) target.removeAttribute(name);
    else target.setAttribute(name, value === true ? '' : String(value));
  }
}

const SVG = 'http://www.w3.org/2000/svg';

/** Paths of outline icons on a 24 by 24 grid. */
const ICONS = {
  chat: 'M4 5.5h16v11h-9l-4.5 3.5v-3.5H4z',
  close: 'M6 6l12 12M18 6 6 18',
  restart: 'M4.5 12a7.5 7.5 0 1 0 2.4-5.5M7 3v4h4',
  send: 'M5 12h13M12.5 6.5 18 12l-5.5 5.5',
  stop: 'M7.5 7.5h9v9h-9z',
  check: 'M5.5 12.5l4 4 9-9',
  cross: 'M7.5 7.5l9 9M16.5 7.5l-9 9',
  copy: 'M9 9h10v10H9zM5 15V5h10',
  down: 'M12 5v13M6.5 12.5 12 18l5.5-5.5',
  warning: 'M12 4.5 21 19.5H3zM12 10v4.5M12 16.8v.2',
} as const;

export type IconName = keyof typeof ICONS;

/** An icon. Screen readers ignore it, because there is a text next to it, or its control has a name. */
export function icon(name: IconName): SVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  set(svg, { viewBox: '0 0 24 24', 'aria-hidden': 'true', class: `icon ${name}` });
  const path = document.createElementNS(SVG, 'path');
  set(path, { d: ICONS[name] });
  svg.append(path);
  return svg;
}

export function button(
  attributes: Attributes,
  onClick: () => void,
  ...children: readonly (Node | string)[]
): HTMLButtonElement {
  const made = h('button', { type: 'button', ...attributes }, ...children);
  made.addEventListener('click', onClick);
  return made;
}

/** A button with an icon. Its name is read by screen readers, and shown on hover. */
export function iconButton(
  name: IconName,
  label: string,
  kind: string,
  onClick: () => void,
): HTMLButtonElement {
  return button({ class: kind, 'aria-label': label, title: label }, onClick, icon(name));
}
