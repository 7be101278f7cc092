/**
 * Returns the number of rounds of a test: the environment variable `name`, which `bun run stress` sets, or `ordinary`.
 */
export function roundsOf(name: string, ordinary: number): number {
  return Number(process.env[name] ?? ordinary)
}
