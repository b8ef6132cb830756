import { readOptions, type SiteConfiguration } from './options.ts';
import { mountWidget, type WidgetControls } from './widget.ts';

// This import is the last one, at the end of the bundle, where a style sheet compresses best.

import style from './style.css';

declare global {
  interface Window {
    /** Before the script runs, the site's configuration. Afterwards it also has the widget's controls. */
    agentdWebchat?: SiteConfiguration & Partial<WidgetControls>;
  }
}

const script = document.currentScript;

/** Event that tells the page that the controls are ready. */
const READY = 'agentd-webchat-ready';

async function start(element: HTMLScriptElement): Promise<void> {
  if (document.readyState === 'loading')
    await new Promise((resolve) => document.addEventListener('DOMContentLoaded', resolve, { once: true }));
  // A page that includes the script twice still has only one chat.
  if (document.querySelector('agentd-webchat')) return;
  const site = window.agentdWebchat ?? {};
  const controls = await mountWidget(readOptions(element, site), style);
  window.agentdWebchat = Object.assign(site, controls);
  dispatchEvent(new CustomEvent(READY));
}

if (script instanceof HTMLScriptElement) void start(script);
