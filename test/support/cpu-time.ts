/** The processor time of a piece of synchronous work, ms. It does not depend on the other load of the machine. */
export function cpuTime(work: () => void): number {
  const began = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}
