import { readOptions, type SiteConfiguration } from './options.ts';
import { mountWidget, type WidgetControls } from './widget.ts';

// The last import is at the end of the bundle, where a style sheet compresses best.

import style from './style.css';

declare global {
  interface Window {
    /** Before the script runs, the site's configuration; afterwards the widget's controls as well. */
    agentdWebchat?: SiteConfiguration & Partial<WidgetControls>;
  }
}

const script = document.currentScript;

/** Told to the page when the controls are there. */
const READY = 'agentd-webchat-ready';

async function start(element: HTMLScriptElement): Promise<void> {
  if (document.readyState === 'loading')
    await new Promise((resolve) => document.addEventListener('DOMContentLoaded', resolve, { once: true }));
  // A page that names the script twice still has one chat.
  if (document.querySelector('agentd-webchat')) return;
  const site = window.agentdWebchat ?? {};
  const controls = await mountWidget(readOptions(element, site), style);
  window.agentdWebchat = Object.assign(site, controls);
  dispatchEvent(new CustomEvent(READY));
}

if (script instanceof HTMLScriptElement) void start(script);
