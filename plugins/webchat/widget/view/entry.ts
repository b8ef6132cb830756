import { withoutTricks } from '../markdown/parse.ts';
import type { Entry, Tool } from '../talk/memory.ts';
import { fill, type Texts, wordsForTool } from '../texts.ts';
import { h, icon, set } from './dom.ts';
import { MarkdownView } from './markdown.ts';

/** One entry of the transcript. */
export class EntryView {
  readonly element: HTMLLIElement;
  readonly #texts: Texts;
  readonly #body = h('div', { class: 'body', dir: 'auto' });
  readonly #tools = h('ul', { class: 'tools', role: 'list' });
  readonly #foot = h('div', { class: 'foot' });
  readonly #markdown = new MarkdownView(this.#body);

  constructor(entry: Entry, texts: Texts) {
    this.#texts = texts;
    this.element = h('li', { class: `entry ${entry.from}` });
    if (entry.from === 'agent')
      this.element.append(heard(texts.assistant), this.#tools, this.#body, this.#foot);
    else if (entry.from === 'visitor') this.element.append(heard(texts.you), this.#body);
    else this.element.append(this.#body);
  }

  show(entry: Entry): void {
    if (entry.from !== 'agent') {
      this.#body.textContent = withoutTricks(entry.text);
      return;
    }
    const writing = entry.state === 'writing';
    this.#markdown.show(entry.text);
    this.#tools.replaceChildren(...entry.tools.map((tool) => toolLine(tool, this.#texts)));
    set(this.#tools, { hidden: entry.tools.length === 0 });
    set(this.#body, { hidden: entry.text === '' });
    set(this.element, { 'data-state': entry.state });
    if (writing && entry.text === '') this.#showFoot('dots');
    else this.#showFoot(entry.state === 'stopped' ? 'stopped' : null);
  }

  #showFoot(what: 'dots' | 'stopped' | null): void {
    set(this.#foot, { hidden: what === null });
    if (this.#foot.dataset.what === String(what)) return;
    this.#foot.dataset.what = String(what);
    if (what === 'dots') {
      const dots = h('span', { class: 'dots', 'aria-hidden': 'true' }, h('i'), h('i'), h('i'));
      this.#foot.replaceChildren(dots, heard(this.#texts.waiting));
    } else this.#foot.replaceChildren(what === null ? '' : this.#texts.stopped);
  }
}

function heard(words: string): HTMLElement {
  return h('span', { class: 'heard' }, `${words}: `);
}

function toolLine(tool: Tool, texts: Texts): HTMLElement {
  const form = { started: texts.toolStarted, completed: texts.toolCompleted, failed: texts.toolFailed }[
    tool.status
  ];
  const sign = {
    started: () => h('span', { class: 'spinner', 'aria-hidden': 'true' }),
    completed: () => icon('check'),
    failed: () => icon('cross'),
  }[tool.status];
  return h(
    'li',
    { class: 'tool', 'data-status': tool.status },
    sign(),
    fill(form, { tool: wordsForTool(texts, tool.name) }),
  );
}
