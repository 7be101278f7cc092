/** A named fact of an agent's memory; `text` is truncated unless `isWhole`. */
export type Fact = { key: string; text: string; isWhole: boolean }

/** Beyond this size the oldest facts are listed by name only. */
const MAX_MEMORY_CHARACTERS = 40_000

/** Formats a memory, newest last, as lines of a prompt; `hint` says how the model gets omitted text. */
export function toMemoryLines(facts: readonly Fact[], hint: string): string[] {
  let characters = 0
  const lines = facts.toReversed().map(({ key, text, isWhole }) => {
    const shown = text.replace(/\s+/g, ' ').trim()
    characters += shown.length
    if (characters > MAX_MEMORY_CHARACTERS) return `- [${key}] […] ${hint}`
    return isWhole ? `- [${key}] ${shown}` : `- [${key}] ${shown} […] ${hint}`
  })
  return lines.reverse().map((line) => line.trimEnd())
}
