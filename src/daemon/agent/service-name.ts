/** Default of `APP_NAME`: the name of this program, which means nothing to the people who write. */
const PROGRAM = 'agentd';

/** The service that the assistant speaks for, as it may name it to people; null if `APP_NAME` does not say. */
export function serviceName({ app_name }: { app_name: string }): string | null {
  return app_name === PROGRAM ? null : app_name;
}
