import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../registry/tables.ts'

const TYPES = ['eas', 'coinbase', 'ens'] as const

/** One row per agent whose owner proved something about themselves; what was proved, and when it was checked. */
export const agentVerifications = sqliteTable(
  'agent_verifications',
  {
    agentId: text()
      .primaryKey()
      .references(() => agents.id, { onDelete: 'cascade' }),
    type: text({ enum: TYPES }).notNull(),
    attestationUid: text(),
    verifierAddress: text(),
    metadata: text({ mode: 'json' }).$type<Record<string, string>>().notNull(),
    verifiedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [oneOf('agent_verifications_type', table.type, TYPES)],
)
export type VerificationRow = typeof agentVerifications.$inferSelect

/** What a wallet is to sign for an agent: the latest one only, once, until it expires. */
export const verificationChallenges = sqliteTable('verification_challenges', {
  agentId: text()
    .primaryKey()
    .references(() => agents.id, { onDelete: 'cascade' }),
  message: text().notNull(),
  expiresAt: integer({ mode: 'timestamp_ms' }).notNull(),
})
