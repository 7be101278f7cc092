import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../../agents/registry/tables.ts'

/** Users' own skills, visible to them only. `version` increases with every changed upload. */
export const ownSkills = sqliteTable(
  'own_skills',
  {
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    content: text().notNull(),
    version: integer().notNull(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
    updatedAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.userId, table.name] })],
)

/** Installed skills of agents by name. A disabled one has no effect. */
export const installedSkills = sqliteTable(
  'installed_skills',
  {
    id: text().primaryKey(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    skillId: text().notNull(),
    enabled: integer({ mode: 'boolean' }).notNull(),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    index('installed_skills_by_user').on(table.userId, table.skillId),
    uniqueIndex('installed_skills_by_agent').on(table.agentId, table.skillId),
  ],
)
export type InstalledSkillRow = typeof installedSkills.$inferSelect

/** Users who have installed a built-in skill; each counts once. */
export const skillDownloads = sqliteTable(
  'skill_downloads',
  {
    skillId: text().notNull(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
  },
  (table) => [
    primaryKey({ columns: [table.skillId, table.userId] }),
    index('skill_downloads_by_user').on(table.userId),
  ],
)

/** Number of users who have ever installed a skill, including deleted ones. */
export const skillFigures = sqliteTable('skill_figures', {
  skillId: text().primaryKey(),
  downloads: integer().notNull(),
})

/** Calendar of the scheduler skill, in UTC. */
export const calendarEntries = sqliteTable(
  'calendar_entries',
  {
    id: text().primaryKey(),
    userId: text()
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    title: text().notNull(),
    startsAt: integer({ mode: 'timestamp_ms' }).notNull(),
    channels: text({ mode: 'json' }).$type<string[]>().notNull(),
    cancelledAt: integer({ mode: 'timestamp_ms' }),
    createdAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [index('calendar_entries_by_user').on(table.userId, table.startsAt)],
)
export type CalendarEntryRow = typeof calendarEntries.$inferSelect
