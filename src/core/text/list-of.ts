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
