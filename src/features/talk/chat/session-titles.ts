import { and, eq, isNull } from 'drizzle-orm'
import type { Tx } from '../../../db/open.ts'
import { chatSessions } from './tables.ts'

const MAX_TITLE_CHARACTERS = 60

/** Gives a session the first words that are said in it as its title. */
export function nameSession(tx: Tx, id: string, message: string): void {
  const title = toTitle(message)
  if (title === '') return
  tx.update(chatSessions)
    .set({ title })
    .where(and(eq(chatSessions.id, id), isNull(chatSessions.title)))
    .run()
}

/** The first line, cut between words where it is long. */
function toTitle(message: string): string {
  const line = message.trim().split(/\s*\n/, 1)[0] ?? ''
  const characters = [...line]
  if (characters.length <= MAX_TITLE_CHARACTERS) return line
  const cut = characters.slice(0, MAX_TITLE_CHARACTERS).join('')
  const space = cut.lastIndexOf(' ')
  return `${space > MAX_TITLE_CHARACTERS / 2 ? cut.slice(0, space) : cut}…`
}
