export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
  body: any;
}

export interface Post {
  headers?: Record<string, string>;
  bearer?: string;
  path?: string;
}

/** POST /webchat/message like the widget of a website. */
export async function post(url: string, body: unknown, options: Post = {}): Promise<Answer> {
  const response = await fetch(`${url}${options.path ?? '/webchat/message'}`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      ...(options.bearer === undefined ? {} : { Authorization: `Bearer ${options.bearer}` }),
      ...options.headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
}
