import { z } from 'zod'

/**
 * Returns a list schema that fails at the first invalid entry: reporting thousands of errors would block the event
 * loop.
 */
export function listOf<Entry extends z.ZodType>(entry: Entry) {
  return z.array(z.unknown()).transform((values, context): z.output<Entry>[] => {
    const entries: z.output<Entry>[] = []
    for (const value of values) {
      const parsed = entry.safeParse(value)
      if (!parsed.success) {
        context.addIssue({ code: 'custom', message: `Entry ${entries.length}: ${parsed.error.message}` })
        return z.NEVER
      }
      entries.push(parsed.data)
    }
    return entries
  })
}

/** A named fact of an agent's memory; `text` is truncated unless `isWhole`. */
export type LineFact = { key: string; text: string; isWhole: boolean }

/** Beyond this size the oldest facts are listed by name only. */
const MAX_MEMORY_CHARACTERS = 40_000

/** Formats a memory, newest last, as lines of a prompt; `hint` says how the model gets omitted text. */
export function toMemoryLines(facts: readonly LineFact[], hint: string): string[] {
  let characters = 0
  const lines = facts.toReversed().map(({ key, text, isWhole }) => {
    const shown = text.replace(/\s+/g, ' ').trim()
    characters += shown.length
    if (characters > MAX_MEMORY_CHARACTERS) return `- [${key}] […] ${hint}`
    return isWhole ? `- [${key}] ${shown}` : `- [${key}] ${shown} […] ${hint}`
  })
  return lines.reverse().map((line) => line.trimEnd())
}

/** Invisible and direction-changing characters, which could hide text. Emoji keep their variation selectors. */
const HIDDEN = /(?![\uFE0E\uFE0F])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** Escapes invisible characters of a JSON text. */
export function toVisible(json: string): string {
  return json.replace(HIDDEN, (character) =>
    Array.from({ length: character.length }, (_, index) => toEscape(character.charCodeAt(index))).join(''),
  )
}

function toEscape(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}

/** Quotes a word for a POSIX shell. */
export function quoteForShell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
