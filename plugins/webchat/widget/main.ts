import { readOptions } from './options.ts';
import { mountWidget, type WidgetControls } from './widget.ts';

// This must be the last import: the style sheet compresses best at the end of the bundle.

import style from './style.css';

const script = document.currentScript;

/** Event that tells the page that the controls are ready. */
const READY = 'agentd-webchat-ready';

let controls: WidgetControls | null = null;

/** `<agentd-chat>`: the place of the chat in the page. There is one chat; the latest element has it. */
class ChatPlace extends HTMLElement {
  connectedCallback(): void {
    if (getComputedStyle(this).display === 'inline') this.style.display = 'block';
    controls?.place(this);
  }
}

async function start(element: HTMLScriptElement): Promise<void> {
  if (document.readyState === 'loading')
    await new Promise((resolve) => document.addEventListener('DOMContentLoaded', resolve, { once: true }));
  // If a page includes the script twice, there is still only one chat.
  if (document.querySelector('agentd-webchat') || customElements.get('agentd-chat')) return;
  const site = window.agentdWebchat ?? {};
  customElements.define('agentd-chat', ChatPlace);
  const place = () => document.querySelector<HTMLElement>('agentd-chat');
  controls = await mountWidget(await readOptions(element, site), style, place());
  // The page may have added the element meanwhile.
  const late = place();
  if (late) controls.place(late);
  window.agentdWebchat = Object.assign(site, controls);
  dispatchEvent(new CustomEvent(READY));
}

if (script instanceof HTMLScriptElement) void start(script);
