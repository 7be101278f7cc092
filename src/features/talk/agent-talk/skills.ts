import { eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { agentSkills } from './tables.ts'

const SKILLS = [
  { id: 'browser', name: 'Browser', about: 'Reading web pages' },
  { id: 'exec', name: 'Commands', about: 'Running commands in the workspace' },
  { id: 'memory', name: 'Memory', about: 'Remembering across conversations' },
  { id: 'calendar', name: 'Calendar', about: 'Keeping appointments' },
  { id: 'email', name: 'E-mail', about: 'Reading and writing mail' },
  { id: 'webhook', name: 'Webhooks', about: 'Reacting to events of other services' },
  { id: 'dj-streaming', name: 'DJ streaming', about: 'Going live on the radio' },
  { id: 'guestlist', name: 'Guest list', about: 'Keeping guest lists of events' },
  { id: 'usdc-payments', name: 'USDC payments', about: 'Paying and being paid in USDC' },
  { id: 'treasury', name: 'Treasury', about: 'Watching balances and budgets' },
] as const

/** `enabled` is what the user chose, nothing before. */
export function listSkills(db: Db, userId: string) {
  const chosen = db.select().from(agentSkills).where(eq(agentSkills.userId, userId)).all()
  const enabled = new Set(chosen.filter((row) => row.enabled).map((row) => row.skillId))
  return SKILLS.map(({ id, name, about }) => ({
    id,
    name,
    description: `${about}. Your choice is kept; it does not yet change what an agent can do.`,
    enabled: enabled.has(id),
  }))
}

/** @throws AppError `invalid` for a skill that is not in the list. */
export async function chooseSkill(
  deps: { db: Db; clock: Clock },
  userId: string,
  { skillId, enabled }: { skillId: string; enabled: boolean },
): Promise<void> {
  if (!SKILLS.some(({ id }) => id === skillId)) throw new AppError('invalid', 'Unknown skill')
  const row = { userId, skillId, enabled, updatedAt: deps.clock.now() }
  const target = [agentSkills.userId, agentSkills.skillId]
  await write(deps.db, (tx) => tx.insert(agentSkills).values(row).onConflictDoUpdate({ target, set: row }).run())
}
