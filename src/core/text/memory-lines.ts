/** Something an agent knows under a name; `text` is only the beginning unless it `isWhole`. */
export type Fact = { key: string; text: string; isWhole: boolean }

/** A memory that is larger is shown by name only, beginning with its oldest. */
const MAX_MEMORY_CHARACTERS = 40_000

/** A memory, the newest last, as the lines of a prompt; `hint` says how the model gets what is left out. */
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
