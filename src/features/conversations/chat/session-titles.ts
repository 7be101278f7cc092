import { and, eq, isNull } from 'drizzle-orm'
import type { Tx } from '../../../db/open.ts'
import { chatSessions } from './tables.ts'

const MAX_TITLE_CHARACTERS = 60

/** Gives a session without a title this one, unless it is empty. */
export function nameSession(tx: Tx, id: string, title: string): void {
  if (title === '') return
  tx.update(chatSessions)
    .set({ title })
    .where(and(eq(chatSessions.id, id), isNull(chatSessions.title)))
    .run()
}

/** Returns the first line of a message, cut between words where it is long. */
export function toTitle(message: string): string {
  const text = message.trim()
  const end = text.indexOf('\n')
  const line = (end === -1 ? text : text.slice(0, end)).trimEnd()
  // A character has at most two code units, and what is not shown need not be taken apart.
  const characters = [...line.slice(0, 2 * MAX_TITLE_CHARACTERS + 2)]
  if (characters.length <= MAX_TITLE_CHARACTERS) return line
  const cut = characters.slice(0, MAX_TITLE_CHARACTERS).join('')
  const space = cut.lastIndexOf(' ')
  return `${space > MAX_TITLE_CHARACTERS / 2 ? cut.slice(0, space) : cut}…`
}
