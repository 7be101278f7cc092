import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../registry/tables.ts'

const TYPES = ['eas', 'coinbase', 'ens'] as const

/** The verification of each agent's owner. */
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

/** The latest challenge of each agent, valid once. */
export const verificationChallenges = sqliteTable('verification_challenges', {
  agentId: text()
    .primaryKey()
    .references(() => agents.id, { onDelete: 'cascade' }),
  message: text().notNull(),
  expiresAt: integer({ mode: 'timestamp_ms' }).notNull(),
})
