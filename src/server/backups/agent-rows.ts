import { sql } from 'drizzle-orm'
import type { Connection, Tx } from '../../db/open.ts'

/** How many rows of a table came back, and how many stand in the backup. */
export type BroughtRows = { table: string; brought: number; inBackup: number }

type Reference = { table: string; from: string; to: string | null }
type Column = { name: string; type: string; pk: number }

/** A statement for one table: what it inserts, what it counts, and what it deletes of the agent that is there. */
export type RowPlan = { table: string; insert: string; count: string; remove: string }

/** How to bring each table from the database `backup` that is attached to `sqlite` and has the same schema. */
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
  // What a row belongs to may be gone here, such as the account of somebody who wrote.
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

/** A row keeps its number, which is its place among others, unless another one has that here. */
function toValue(table: string, { name, type, pk }: Column, columns: readonly Column[]): string {
  const isNumber =
    pk === 1 && type.toUpperCase() === 'INTEGER' && columns.filter((column) => column.pk > 0).length === 1
  if (!isNumber) return `row."${name}"`
  return `CASE WHEN EXISTS (SELECT 1 FROM main."${table}" WHERE "${name}" = row."${name}") THEN NULL ELSE row."${name}" END`
}

/** Deletes what the agent that is there has of all this. */
export function removeRows(tx: Tx, plans: readonly RowPlan[], agentId: string): void {
  for (const { remove } of plans.toReversed()) tx.run(withId(remove, agentId))
}

/** Brings the rows of an agent whose own row is there. */
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

/** Rows that come back with an agent: `isWanted` is a condition on `row`, `agentOf` says whose it is. */
type BroughtTable = { table: string; agentOf?: string; isWanted?: string }

const ofTurn = '(SELECT agent_id FROM backup.chat_turns WHERE id = row.turn_id)'
const ofFinishedTurn = "(SELECT state FROM backup.chat_turns WHERE id = row.turn_id) <> 'running'"

/**
 * What comes back with an agent, what others refer to first. What was under way is left out: nobody would go on with it, or
 * somebody would do again what was done since.
 */
export const BROUGHT: readonly BroughtTable[] = [
  { table: 'agent_tool_settings' },
  { table: 'agent_mcp_servers' },
  { table: 'agent_caps' },
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

/**
 * What does not come back, and why: figures are counted anew from the rows above, the rest tells what became of the agent
 * that was, or is between two parties of whom the other has gone on.
 */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  agent_storage: 'counted anew',
  channel_pairings: 'waiting at the agent that was',
  webhook_deliveries: 'answered by the agent that was',
  message_days: 'counted anew',
  agent_metrics: 'measured of the agent that was',
  agent_metric_hours: 'measured of the agent that was',
  watchdogs: 'seen of the agent that was',
  watchdog_events: 'seen of the agent that was',
  watchdog_hours: 'seen of the agent that was',
  deployments: 'done to the agent that was',
  deployment_history: 'done to the agent that was',
  log_lines: 'written by the agent that was',
  log_sources: 'written by the agent that was',
  approvals: 'allowed at another time',
  verification_challenges: 'of a moment',
  bus_messages: 'between two agents',
  amplifications: 'between two agents',
  underground_events: 'sold to others',
}
