/** Default of `APP_NAME`: the name of this program, which means nothing to the people who write. */
const PROGRAM = 'agentd';

/** The name of the assistant's service, for people; null if `APP_NAME` does not name one. */
export function serviceName({ app_name }: { app_name: string }): string | null {
  return app_name === PROGRAM ? null : app_name;
}
