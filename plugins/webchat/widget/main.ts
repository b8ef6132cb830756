import { mountWidget, readOptions, type SiteConfiguration, type WidgetControls } from './widget.ts';

// This must be the last import: the style sheet compresses best at the end of the bundle.

import style from './style.css';

declare global {
  interface Window {
    /** Until the script runs, the site's configuration. After that, it also contains the widget's controls. */
    agentdWebchat?: SiteConfiguration & Partial<WidgetControls>;
  }
}

const script = document.currentScript;

/** Event that tells the page that the controls are ready. */
const READY = 'agentd-webchat-ready';

async function start(element: HTMLScriptElement): Promise<void> {
  if (document.readyState === 'loading')
    await new Promise((resolve) => document.addEventListener('DOMContentLoaded', resolve, { once: true }));
  // If a page includes the script twice, there is still only one chat.
  if (document.querySelector('agentd-webchat')) return;
  const site = window.agentdWebchat ?? {};
  const controls = await mountWidget(await readOptions(element, site), style);
  window.agentdWebchat = Object.assign(site, controls);
  dispatchEvent(new CustomEvent(READY));
}

if (script instanceof HTMLScriptElement) void start(script);
