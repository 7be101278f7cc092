import { sql } from 'drizzle-orm'
import type { Connection, Tx } from '../../db/open.ts'

/** Number of rows of one table that were restored, and that the backup holds. */
export type BroughtRows = { table: string; brought: number; inBackup: number }

type Reference = { table: string; from: string; to: string | null }
type Column = { name: string; type: string; pk: number }

/** SQL of one table: copies the agent's rows from the backup, counts them there, and deletes the present ones. */
export type RowPlan = { table: string; insert: string; count: string; remove: string }

/** Returns the SQL of each table. The backup is attached to `sqlite` as `backup` and has the same schema. */
export function planRows(sqlite: Connection['sqlite']): RowPlan[] {
  return BROUGHT.map((table) => planTable(sqlite, table))
}

function planTable(sqlite: Connection['sqlite'], { table, agentOf = 'row.agent_id', isWanted = 'true' }: BroughtTable) {
  const columns = sqlite.prepare<[string], Column>('SELECT name, type, pk FROM pragma_table_info(?)').all(table)
  const references = sqlite
    .prepare<[string], Reference>('SELECT "table", "from", "to" FROM pragma_foreign_key_list(?)')
    .all(table)
  const names = columns.map(({ name }) => `"${name}"`).join(', ')
  const values = columns.map((column) => toValue(table, column, columns)).join(', ')
  const isOfAgent = `${agentOf} = :id`
  // A row is skipped when a row it references no longer exists, such as a deleted account.
  const hasParents = references.map(
    ({ table: parent, from, to }) =>
      `(row."${from}" IS NULL OR EXISTS (SELECT 1 FROM main."${parent}" WHERE "${to ?? 'id'}" = row."${from}"))`,
  )
  const conditions = [isOfAgent, isWanted, ...hasParents].join(' AND ')
  return {
    table,
    insert: `INSERT INTO main."${table}" (${names}) SELECT ${values} FROM backup."${table}" AS row WHERE ${conditions}`,
    count: `SELECT count(*) AS count FROM backup."${table}" AS row WHERE ${isOfAgent}`,
    remove: `DELETE FROM main."${table}" AS row WHERE ${agentOf.replace('backup.', 'main.')} = :id`,
  }
}

/** An integer key keeps its value, and with it the order of rows, unless that value is already used. */
function toValue(table: string, { name, type, pk }: Column, columns: readonly Column[]): string {
  const isNumber =
    pk === 1 && type.toUpperCase() === 'INTEGER' && columns.filter((column) => column.pk > 0).length === 1
  if (!isNumber) return `row."${name}"`
  return `CASE WHEN EXISTS (SELECT 1 FROM main."${table}" WHERE "${name}" = row."${name}") THEN NULL ELSE row."${name}" END`
}

/** Deletes the present rows of the agent in all these tables. */
export function removeRows(tx: Tx, plans: readonly RowPlan[], agentId: string): void {
  for (const { remove } of plans.toReversed()) tx.run(withId(remove, agentId))
}

/** Copies the rows of an agent from the backup; the agent's own row must exist. */
export function bringRows(
  { tx, sqlite }: Pick<Connection, 'tx' | 'sqlite'>,
  plans: readonly RowPlan[],
  agentId: string,
): BroughtRows[] {
  return plans.map(({ table, insert, count }) => {
    const inBackup = sqlite.prepare<{ id: string }, { count: number }>(count).get({ id: agentId })?.count ?? 0
    return { table, inBackup, brought: tx.run(withId(insert, agentId)).changes }
  })
}

function withId(statement: string, agentId: string) {
  const parts = statement.split(':id')
  return sql.join(parts.flatMap((part, index) => (index === 0 ? [sql.raw(part)] : [sql`${agentId}`, sql.raw(part)])))
}

/** A table restored with an agent: `isWanted` is a condition on `row`, `agentOf` the expression of its agent id. */
type BroughtTable = { table: string; agentOf?: string; isWanted?: string }

const ofTurn = '(SELECT agent_id FROM backup.chat_turns WHERE id = row.turn_id)'
const ofFinishedTurn = "(SELECT state FROM backup.chat_turns WHERE id = row.turn_id) <> 'running'"

/**
 * Tables restored with an agent, parents first. Unfinished work is left out: it would never be resumed, or it would be
 * done twice.
 */
export const BROUGHT: readonly BroughtTable[] = [
  { table: 'agent_tool_settings' },
  { table: 'agent_mcp_servers' },
  { table: 'mcp_authorizations' },
  { table: 'agent_caps' },
  { table: 'agent_egress' },
  { table: 'agent_channels' },
  { table: 'agent_labels' },
  { table: 'agent_memory' },
  { table: 'agent_verifications' },
  { table: 'channel_people' },
  { table: 'colony_members' },
  { table: 'git_credentials' },
  { table: 'heartbeats' },
  { table: 'installed_skills' },
  { table: 'pauses' },
  { table: 'chat_sessions' },
  { table: 'messages' },
  { table: 'chat_turns', isWanted: "row.state <> 'running'" },
  { table: 'chat_turn_pieces', agentOf: ofTurn, isWanted: ofFinishedTurn },
  { table: 'chat_tool_calls', agentOf: ofTurn, isWanted: ofFinishedTurn },
  { table: 'chat_attachments' },
  { table: 'inbox_messages', isWanted: "row.status <> 'queued'" },
  { table: 'scheduled_tasks' },
  { table: 'scheduled_runs', isWanted: "row.status NOT IN ('queued', 'running')" },
  { table: 'webhook_channels' },
]

/** Tables not restored with an agent, with the reason. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  agent_storage: 'recalculated',
  agent_tests: 'tests of the replaced agent',
  egress_blocks: 'blocked for the replaced agent',
  installations: 'its token is replaced, so the machine is paired again',
  mcp_authorization_attempts: 'short-lived',
  channel_pairings: 'belongs to the replaced agent',
  webhook_deliveries: 'belongs to the replaced agent',
  message_days: 'recalculated',
  agent_metrics: 'measured on the replaced agent',
  agent_metric_hours: 'measured on the replaced agent',
  agent_revisions: 'history of the replaced agent',
  agent_day_counts: 'counted on the replaced agent',
  watchdogs: 'observed on the replaced agent',
  watchdog_events: 'observed on the replaced agent',
  watchdog_hours: 'observed on the replaced agent',
  deployments: 'history of the replaced agent',
  deployment_history: 'history of the replaced agent',
  log_lines: 'written by the replaced agent',
  log_sources: 'written by the replaced agent',
  approvals: 'decisions about past actions',
  verification_challenges: 'short-lived',
  bus_messages: 'shared with another agent',
  amplifications: 'shared with another agent',
  underground_events: 'bought by others',
}
