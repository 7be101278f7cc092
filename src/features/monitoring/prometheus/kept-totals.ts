import type { KeptFigures, Trigger } from '../../../db/kept-figures.ts'

/**
 * A table whose rows are counted per state; `stateOf` is an SQL expression on a row, null for rows that do not count.
 */
type Counted = { table: string; columns: readonly string[]; stateOf: (row: string) => string }

const COUNTED: readonly Counted[] = [
  {
    table: 'agents',
    columns: ['status', 'down_at'],
    stateOf: (row) =>
      `CASE WHEN ${row}.status = 'running' AND ${row}.down_at IS NOT NULL THEN 'down' ELSE ${row}.status END`,
  },
  // Finished jobs are deleted soon and not counted.
  { table: 'jobs', columns: ['status'], stateOf: (row) => `nullif(${row}.status, 'done')` },
]

const SUMS = ['calls', 'input_tokens', 'output_tokens', 'cost_micro_usd'] as const

function countStates({ table, columns, stateOf }: Counted): Trigger[] {
  const [before, after] = [stateOf('OLD'), stateOf('NEW')]
  const add = (state: string, one: 1 | -1) =>
    `INSERT INTO state_counts (subject, state, rows) SELECT '${table}', ${state}, ${one} WHERE ${state} IS NOT NULL
      ON CONFLICT DO UPDATE SET rows = rows + excluded.rows;`
  return [
    { name: `watching_${table}_insert`, event: `AFTER INSERT ON ${table}`, body: add(after, 1) },
    {
      name: `watching_${table}_update`,
      event: `AFTER UPDATE OF ${columns.join(', ')} ON ${table}`,
      when: `${before} IS NOT ${after}`,
      body: `${add(before, -1)} ${add(after, 1)}`,
    },
    { name: `watching_${table}_delete`, event: `AFTER DELETE ON ${table}`, body: add(before, -1) },
  ]
}

function addUsage(row: string, sign: '' | '-'): string {
  return `INSERT INTO usage_totals (provider, ${SUMS.join(', ')})
    VALUES (${row}.provider, ${SUMS.map((sum) => `${sign}${row}.${sum}`).join(', ')})
    ON CONFLICT DO UPDATE SET ${SUMS.map((sum) => `${sum} = ${sum} + excluded.${sum}`).join(', ')};`
}

function addBalance(amount: string): string {
  return `INSERT INTO ledger_totals (kind, currency, balance) VALUES (NEW.kind, NEW.currency, ${amount})
    ON CONFLICT DO UPDATE SET balance = balance + excluded.balance;`
}

/**
 * Maintains totals by triggers so a scrape reads a few dozen rows whatever the database size: agents and jobs by state,
 * model usage by provider (`usage_totals`, the sums of `usage_days`), and ledger balances by kind (`ledger_totals`, the
 * sums of `ledger_accounts`).
 */
export const PROMETHEUS_TOTALS: KeptFigures = {
  tables: [
    `CREATE TABLE IF NOT EXISTS state_counts (subject TEXT NOT NULL, state TEXT NOT NULL, rows INTEGER NOT NULL,
      PRIMARY KEY (subject, state)) STRICT`,
    `CREATE TABLE IF NOT EXISTS usage_totals (provider TEXT PRIMARY KEY NOT NULL,
      ${SUMS.map((sum) => `${sum} INTEGER NOT NULL`).join(', ')}) STRICT`,
    `CREATE TABLE IF NOT EXISTS ledger_totals (kind TEXT NOT NULL, currency TEXT NOT NULL, balance INTEGER NOT NULL,
      PRIMARY KEY (kind, currency)) STRICT`,
  ],
  triggers: [
    ...COUNTED.flatMap(countStates),
    { name: 'watching_usage_insert', event: 'AFTER INSERT ON usage_days', body: addUsage('NEW', '') },
    {
      name: 'watching_usage_update',
      event: `AFTER UPDATE OF provider, ${SUMS.join(', ')} ON usage_days`,
      body: `${addUsage('OLD', '-')} ${addUsage('NEW', '')}`,
    },
    { name: 'watching_usage_delete', event: 'AFTER DELETE ON usage_days', body: addUsage('OLD', '-') },
    { name: 'watching_ledger_insert', event: 'AFTER INSERT ON ledger_accounts', body: addBalance('NEW.balance') },
    {
      name: 'watching_ledger_update',
      event: 'AFTER UPDATE OF balance ON ledger_accounts',
      body: addBalance('NEW.balance - OLD.balance'),
    },
  ],
  recount: [
    'DELETE FROM state_counts',
    ...COUNTED.map(
      ({ table, stateOf }) => `INSERT INTO state_counts (subject, state, rows)
        SELECT '${table}', ${stateOf('r')} AS state, count(*) FROM ${table} AS r WHERE ${stateOf('r')} IS NOT NULL GROUP BY 2`,
    ),
    'DELETE FROM usage_totals',
    `INSERT INTO usage_totals (provider, ${SUMS.join(', ')})
      SELECT provider, ${SUMS.map((sum) => `sum(${sum})`).join(', ')} FROM usage_days GROUP BY provider`,
    'DELETE FROM ledger_totals',
    `INSERT INTO ledger_totals (kind, currency, balance)
      SELECT kind, currency, sum(balance) FROM ledger_accounts GROUP BY kind, currency`,
  ],
}
