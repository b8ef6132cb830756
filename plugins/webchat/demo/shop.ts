/** The sample shop: it signs people in, as a website does, and shows the requests to its API. */
import type { SiteConfiguration } from '../widget/options.ts';
import type { WidgetControls } from '../widget/widget.ts';

/** One person of `GET demo/people`. */
interface Person {
  id: string;
  name: string;
  email: string;
}

/** One request of `GET demo/requests`. */
interface ApiRequest {
  /** 1, 2, 3, … */
  number: number;
  /** ms since the epoch */
  at: number;
  method: string;
  path: string;
  credentials: 'user' | 'default' | 'none';
  /** E-mail address that the credentials belong to. */
  as: string | null;
  status: number;
}

/** One action of `GET demo/actions/<person>`. */
interface DoneAction {
  /** ms since the epoch */
  at: number;
  summary: string;
  outcome: string;
}

/** How often the page asks for new requests, in ms. */
const REFRESH_MS = 1000;
/** Maximum number of rows of the table. */
const MAX_ROWS = 12;
const SIGNED_IN = 'shop signed-in';
const SINCE = 'shop since';
/** Requests that no conversation causes. */
const INTERNAL = ['/authentication_token', '/openapi.json'];
/** The order that each person can cancel. */
const CANCELABLE: Readonly<Record<string, string>> = { ada: '1004', grace: '1005', alan: '1006' };

/** Empty in the storage if nobody is signed in. At first, it is Ada. */
let signedIn: string | null = (sessionStorage.getItem(SIGNED_IN) ?? 'ada') || null;
/** What happened before is not shown, ms since the epoch. */
let since = Number(sessionStorage.getItem(SINCE)) || startNow();
let people: Person[] = [];
let seen = 0;

/**
 * This function is the only code that a site needs for the widget: it returns the token of the person who is signed in.
 * The widget calls it again before the token expires.
 */
const chat: SiteConfiguration & Partial<WidgetControls> = {
  token: async () => (signedIn === null ? null : fetchToken(signedIn)),
  suggestions: questions(),
};
window.agentdWebchat = chat;

/** Questions that show something for the person who is signed in. */
function questions(): string[] {
  if (signedIn === null)
    return ['Which products do you have?', 'What are my orders?', 'Who is ada@example.com?'];
  return [
    'What are my orders?',
    `Cancel order ${CANCELABLE[signedIn]}`,
    'Who am I?',
    'Which products do you have?',
  ];
}

function startNow(): number {
  const now = Date.now();
  sessionStorage.setItem(SINCE, String(now));
  return now;
}

/** Restores the shop, and begins a new conversation. */
async function startOver(): Promise<void> {
  const response = await fetch('demo/restore', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{}',
  });
  if (!response.ok) return;
  since = startNow();
  find('.requests tbody').replaceChildren();
  chat.restart?.();
  await Promise.allSettled([showRequests(), showActions()]);
}

async function fetchToken(person: string): Promise<string | null> {
  const response = await fetch(`demo/token/${encodeURIComponent(person)}`);
  if (!response.ok) return null;
  const { token } = (await response.json()) as { token: string };
  return token;
}

function find<T extends Element>(selector: string): T {
  const found = document.querySelector<T>(selector);
  if (found === null) throw new Error(`the page has no ${selector}`);
  return found;
}

function showPeople(): void {
  const choices = [...people.map(({ id, name }) => ({ id, name })), { id: null, name: 'Nobody' }];
  const buttons = choices.map(({ id, name }) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = name;
    button.setAttribute('aria-pressed', String(id === signedIn));
    button.addEventListener('click', () => void signIn(id));
    return button;
  });
  const place = find('.people');
  const focused = [...place.children].indexOf(document.activeElement as Element);
  place.replaceChildren(...buttons);
  buttons[focused]?.focus();
}

function showQuestions(): void {
  chat.suggestions = questions();
  chat.suggest?.(chat.suggestions);
  find('.cancel').textContent = `Cancel order ${CANCELABLE[signedIn ?? 'ada']}`;
}

async function signIn(id: string | null): Promise<void> {
  const before = signedIn;
  signedIn = id;
  showPeople();
  try {
    await showSignedIn();
  } catch {
    // Without a new token, the chat would continue as the previous person while the page shows another name.
    signedIn = before;
    showPeople();
    find('.signed').textContent = 'The daemon cannot be reached. The signed-in person has not changed.';
    return;
  }
  sessionStorage.setItem(SIGNED_IN, id ?? '');
  await chat.identityChanged?.();
  showQuestions();
}

async function showSignedIn(): Promise<void> {
  const person = people.find(({ id }) => id === signedIn);
  const words = find('.signed');
  if (!person) words.textContent = 'Nobody is signed in: the API is called with default credentials.';
  else if ((await fetchToken(person.id)) === null)
    words.textContent = 'This daemon has no secret to sign a token with (JWT_ALGORITHM is not HS256).';
  else words.textContent = `Each message carries the token of ${person.email}.`;
}

async function showRequests(): Promise<void> {
  if (document.visibilityState === 'hidden') return;
  const response = await fetch(`demo/requests?after=${seen}`);
  const { requests } = (await response.json()) as { requests: ApiRequest[] | null };
  const empty = find<HTMLElement>('.none-asked');
  if (requests === null) {
    empty.textContent = 'API_BASE_URL names an API of your own: see its log.';
    return;
  }
  const body = find('.requests tbody');
  const caused = requests.filter(({ at, path }) => at >= since && !INTERNAL.includes(path));
  body.prepend(...caused.map(row).reverse());
  while (body.childElementCount > MAX_ROWS) body.lastElementChild?.remove();
  seen = requests.at(-1)?.number ?? seen;
  empty.hidden = body.childElementCount > 0;
}

async function showActions(): Promise<void> {
  if (document.visibilityState === 'hidden') return;
  const person = signedIn;
  let actions: DoneAction[] = [];
  if (person !== null) {
    const response = await fetch(`demo/actions/${encodeURIComponent(person)}`);
    if (response.ok) ({ actions } = (await response.json()) as { actions: DoneAction[] });
  }
  // Another person may have signed in since the request.
  if (person !== signedIn) return;
  const recent = actions.filter(({ at }) => at >= since);
  const rows = recent.map(({ at, summary, outcome }) =>
    cells([new Date(at).toLocaleTimeString(), summary, badge(outcome, outcome)]),
  );
  find('.actions tbody').replaceChildren(...rows);
  const empty = find<HTMLElement>('.none-done');
  empty.hidden = rows.length > 0;
  empty.textContent = person === null ? 'Nobody is signed in.' : 'Nothing was done for you here yet.';
}

function cells(contents: readonly (string | Node)[]): HTMLElement {
  const row = document.createElement('tr');
  for (const content of contents) {
    const cell = document.createElement('td');
    cell.append(content);
    row.append(cell);
  }
  return row;
}

function row({ at, method, path, credentials, as, status }: ApiRequest): HTMLElement {
  const name = people.find(({ email }) => email === as)?.name ?? as;
  const words = { user: String(name), default: 'default credentials', none: 'no credentials' }[credentials];
  const request = `${method} ${decodeURIComponent(path)}`;
  return cells([new Date(at).toLocaleTimeString(), request, badge(credentials, words), String(status)]);
}

function badge(kind: string, words: string): HTMLElement {
  const shown = document.createElement('span');
  shown.className = `as ${kind}`;
  shown.textContent = words;
  return shown;
}

async function start(): Promise<void> {
  people = ((await (await fetch('demo/people')).json()) as { people: Person[] }).people;
  showPeople();
  showQuestions();
  find('.again').addEventListener('click', () => void startOver());
  addEventListener('agentd-sign-in', (event) => {
    event.preventDefault();
    void signIn('ada');
  });
  await showSignedIn();
  for (;;) {
    await Promise.allSettled([showRequests(), showActions()]);
    await new Promise((resolve) => setTimeout(resolve, REFRESH_MS));
  }
}

void start();
