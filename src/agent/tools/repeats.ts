/** The same use of a tool is refused from this one on, and the next after that ends the turn. */
const MAX_EQUAL_USES = 3

/** Notices when a turn goes in circles. */
export type Repeats = {
  /** Counts one use. Returns what to tell the model instead of doing it, null while it is no repetition. */
  note(tool: string, input: unknown): string | null
  /** The tool with which the model went on after it was told so; null while it has not. */
  loopingTool(): string | null
}

/** For one turn. Arguments are equal whatever the order in which they are named. */
export function createRepeats(): Repeats {
  const counts = new Map<string, number>()
  let looping: string | null = null
  return {
    note(tool, input) {
      const use = `${tool} ${toCanonicalJson(input)}`
      const count = (counts.get(use) ?? 0) + 1
      counts.set(use, count)
      if (count < MAX_EQUAL_USES) return null
      if (count > MAX_EQUAL_USES) looping = tool
      return `You have called ${tool} with the same arguments ${count} times in this turn, so it was not done again. Do not call it like that any more: answer with what you know, and say what is missing.`
    },
    loopingTool: () => looping,
  }
}

function toCanonicalJson(value: unknown): string {
  return (
    JSON.stringify(value, (_, part: unknown) =>
      isRecord(part) ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1))) : part,
    ) ?? ''
  )
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
