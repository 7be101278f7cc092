/** How often a test does something: `ordinary` times in the gate, as often as the variable `name` says in `bun run torture`. */
export function roundsOf(name: string, ordinary: number): number {
  return Number(process.env[name] ?? ordinary)
}
