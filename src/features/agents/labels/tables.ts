import { index, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { agents } from '../registry/tables.ts'

/** Words that an owner sorts agents by; one row for each of an agent. */
export const agentLabels = sqliteTable(
  'agent_labels',
  {
    agentId: text()
      .notNull()
      .references(() => agents.id, { onDelete: 'cascade' }),
    label: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.agentId, table.label] }), index('agent_labels_by_label').on(table.label)],
)
