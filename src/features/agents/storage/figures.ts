import type { KeptFigures, Trigger } from '../../../db/kept-figures.ts'

/** Overhead of a row with its indexes. */
const ROW_BYTES = 200

/**
 * A table whose rows count towards storage, and the column of `agent_storage` that sums them. `agentOf` finds the agent
 * of a row when it is stored in another table.
 */
type Counted = { table: string; column: string; texts: readonly string[]; agentOf?: (row: string) => string }

const COUNTED: readonly Counted[] = [
  { table: 'messages', column: 'message_bytes', texts: ['content', 'topic'] },
  {
    table: 'chat_tool_calls',
    column: 'message_bytes',
    texts: ['name', 'arguments', 'result'],
    agentOf: (row) => `(SELECT agent_id FROM chat_turns WHERE id = ${row}.turn_id)`,
  },
  { table: 'chat_attachments', column: 'message_bytes', texts: ['name', 'path', 'excerpt'] },
  { table: 'agent_memory', column: 'memory_bytes', texts: ['key', 'value', 'session', 'page'] },
  { table: 'webhook_deliveries', column: 'inbox_bytes', texts: ['text', 'reply'] },
  { table: 'inbox_messages', column: 'inbox_bytes', texts: ['subject', 'text', 'reply'] },
]

const PARTS = ['message_bytes', 'memory_bytes', 'inbox_bytes', 'workspace_bytes'] as const

/** Builds the triggers of one table: they add a row's size on insert and subtract it on delete. */
function countRows({ table, column, texts, agentOf = agentIdOf }: Counted): Trigger[] {
  const add = (row: string, sign: '+' | '-') =>
    `UPDATE agent_storage SET ${column} = ${column} ${sign} (${bytesOf(row, texts)}) WHERE agent_id = ${agentOf(row)};`
  return [
    { name: `storage_${table}_insert`, event: `AFTER INSERT ON ${table}`, body: add('NEW', '+') },
    {
      name: `storage_${table}_update`,
      event: `AFTER UPDATE OF ${texts.join(', ')} ON ${table}`,
      body: `${add('OLD', '-')} ${add('NEW', '+')}`,
    },
    { name: `storage_${table}_delete`, event: `AFTER DELETE ON ${table}`, body: add('OLD', '-') },
  ]
}

function agentIdOf(row: string): string {
  return `${row}.agent_id`
}

/** Deletes tool calls before their turn, which names their agent. */
const TOOL_CALLS_FIRST: Trigger = {
  name: 'storage_chat_turns_delete',
  event: 'BEFORE DELETE ON chat_turns',
  body: 'DELETE FROM chat_tool_calls WHERE turn_id = OLD.id;',
}

/** UTF-8 bytes; SQLite before 3.43 has no octet_length(). */
function bytesOf(row: string, texts: readonly string[]): string {
  return [ROW_BYTES, ...texts.map((text) => `coalesce(length(CAST(${row}.${text} AS BLOB)), 0)`)].join(' + ')
}

function totalOf(row: string): string {
  return PARTS.map((part) => `${row}.${part}`).join(' + ')
}

const addTotal = `INSERT INTO user_storage (user_id, used_bytes) VALUES (NEW.owner_id, ${totalOf('NEW')})
  ON CONFLICT DO UPDATE SET used_bytes = used_bytes + excluded.used_bytes;`
const takeTotalAway = `UPDATE user_storage SET used_bytes = used_bytes - (${totalOf('OLD')}) WHERE user_id = OLD.owner_id;`

/** Keeps a row in `agent_storage` for each agent, and the sum per owner. */
const OF_AGENTS: readonly Trigger[] = [
  {
    name: 'storage_agents_insert',
    event: 'AFTER INSERT ON agents',
    body: 'INSERT INTO agent_storage (agent_id, owner_id) VALUES (NEW.id, NEW.owner_id) ON CONFLICT DO NOTHING;',
  },
  {
    name: 'storage_agents_owner',
    event: 'AFTER UPDATE OF owner_id ON agents',
    body: 'UPDATE agent_storage SET owner_id = NEW.owner_id WHERE agent_id = NEW.id;',
  },
  {
    name: 'storage_totals_insert',
    event: 'AFTER INSERT ON agent_storage',
    when: 'NEW.owner_id IS NOT NULL',
    body: addTotal,
  },
  {
    // On updates only: when an account is deleted, its row is deleted before its agents.
    name: 'storage_totals_change',
    event: `AFTER UPDATE OF ${PARTS.join(', ')} ON agent_storage`,
    when: 'NEW.owner_id IS OLD.owner_id',
    body: `UPDATE user_storage SET used_bytes = used_bytes + (${totalOf('NEW')}) - (${totalOf('OLD')}) WHERE user_id = NEW.owner_id;`,
  },
  {
    name: 'storage_totals_leave',
    event: 'AFTER UPDATE OF owner_id ON agent_storage',
    when: 'NEW.owner_id IS NOT OLD.owner_id',
    body: takeTotalAway,
  },
  {
    name: 'storage_totals_join',
    event: 'AFTER UPDATE OF owner_id ON agent_storage',
    when: 'NEW.owner_id IS NOT OLD.owner_id AND NEW.owner_id IS NOT NULL',
    body: addTotal,
  },
  { name: 'storage_totals_delete', event: 'AFTER DELETE ON agent_storage', body: takeTotalAway },
]

/** Builds the statement that recomputes one column of `agent_storage` in one pass over the counted rows. */
function recountColumn(column: string): string {
  const sums = COUNTED.filter((counted) => counted.column === column).map(
    ({ table, texts, agentOf = agentIdOf }) =>
      `SELECT ${agentOf('r')} AS agent_id, sum(${bytesOf('r', texts)}) AS bytes FROM ${table} AS r GROUP BY 1`,
  )
  return `WITH sums AS MATERIALIZED (SELECT agent_id, sum(bytes) AS bytes FROM (${sums.join(' UNION ALL ')}) GROUP BY 1)
    UPDATE agent_storage SET ${column} =
      coalesce((SELECT bytes FROM sums WHERE sums.agent_id = agent_storage.agent_id), 0)`
}

/** Triggers that keep `agent_storage` and `user_storage` up to date, so that a write needs no sum. */
export const STORAGE_FIGURES: KeptFigures = {
  triggers: [...OF_AGENTS, TOOL_CALLS_FIRST, ...COUNTED.flatMap(countRows)],
  recount: [
    'INSERT OR IGNORE INTO agent_storage (agent_id, owner_id) SELECT id, owner_id FROM agents',
    ...new Set(COUNTED.map(({ column }) => recountColumn(column))),
    `UPDATE user_storage SET used_bytes = 0`,
    `INSERT INTO user_storage (user_id, used_bytes)
      SELECT s.owner_id, sum(${totalOf('s')}) FROM agent_storage AS s WHERE s.owner_id IS NOT NULL GROUP BY s.owner_id
      ON CONFLICT DO UPDATE SET used_bytes = excluded.used_bytes`,
  ],
}
