import type { KeptFigures, Trigger } from '../../../db/kept-figures.ts'

/** What a row takes beside its texts, with its indices. */
const ROW_BYTES = 200

/** One kind of rows that count, and the column of `agent_storage` in which they do. */
type Counted = { table: string; column: string; texts: readonly string[] }

const COUNTED: readonly Counted[] = [
  { table: 'messages', column: 'message_bytes', texts: ['content', 'topic'] },
  { table: 'agent_memory', column: 'memory_bytes', texts: ['key', 'value'] },
  { table: 'inbox_messages', column: 'inbox_bytes', texts: ['subject', 'text', 'reply'] },
]

const PARTS = ['message_bytes', 'memory_bytes', 'inbox_bytes', 'workspace_bytes'] as const

/** The triggers of one kind: what a row takes is added when it comes, and taken away when it goes. */
function countRows({ table, column, texts }: Counted): Trigger[] {
  const add = (row: string, sign: '+' | '-') =>
    `UPDATE agent_storage SET ${column} = ${column} ${sign} (${bytesOf(row, texts)}) WHERE agent_id = ${row}.agent_id;`
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

/** As bytes of UTF-8; older tools that may change rows know no shorter way. */
function bytesOf(row: string, texts: readonly string[]): string {
  return [ROW_BYTES, ...texts.map((text) => `coalesce(length(CAST(${row}.${text} AS BLOB)), 0)`)].join(' + ')
}

function totalOf(row: string): string {
  return PARTS.map((part) => `${row}.${part}`).join(' + ')
}

const addTotal = `INSERT INTO user_storage (user_id, used_bytes) VALUES (NEW.owner_id, ${totalOf('NEW')})
  ON CONFLICT DO UPDATE SET used_bytes = used_bytes + excluded.used_bytes;`
const takeTotalAway = `UPDATE user_storage SET used_bytes = used_bytes - (${totalOf('OLD')}) WHERE user_id = OLD.owner_id;`

/** An agent's row comes with it; what it adds up to is added to its owner's. */
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
    // No row comes into being here: when an account goes with all it has, it is gone before its agents.
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

const recountColumn = ({ table, column, texts }: Counted) =>
  `UPDATE agent_storage SET ${column} =
    (SELECT coalesce(sum(${bytesOf('r', texts)}), 0) FROM ${table} AS r WHERE r.agent_id = agent_storage.agent_id)`

/** Keeps `agent_storage` and `user_storage` in step with what is stored: nothing has to be added up when somebody writes. */
export const STORAGE_FIGURES: KeptFigures = {
  triggers: [...OF_AGENTS, ...COUNTED.flatMap(countRows)],
  recount: [
    'INSERT OR IGNORE INTO agent_storage (agent_id, owner_id) SELECT id, owner_id FROM agents',
    ...COUNTED.map(recountColumn),
    `UPDATE user_storage SET used_bytes = 0`,
    `INSERT INTO user_storage (user_id, used_bytes)
      SELECT s.owner_id, sum(${totalOf('s')}) FROM agent_storage AS s WHERE s.owner_id IS NOT NULL GROUP BY s.owner_id
      ON CONFLICT DO UPDATE SET used_bytes = excluded.used_bytes`,
  ],
}
