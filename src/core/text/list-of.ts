import { z } from 'zod'

/** A list that its first wrong entry spoils. To tell what is wrong with each of many thousands holds everybody up. */
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
