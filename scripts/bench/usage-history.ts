import Database from 'better-sqlite3'

export type History = { rows: number; days: number; otherUsers: number }

const AI = ['openai/gpt-4o-mini', 'anthropic/claude-3.5-sonnet']
const AGENTS_PER_USER = 3

/**
 * Fills `usage_logs` with calls spread evenly over the last `days`, and the tables of daily and monthly sums. Two calls
 * in five belong to `userId`. Each account has three agents and two models, which bounds the sums of one day.
 */
export function writeHistory(file: string, userId: string, { rows, days, otherUsers }: History): void {
  const sqlite = new Database(file)
  sqlite.pragma('busy_timeout = 5000')
  sqlite.transaction(() => {
    sqlite
      .prepare(
        `WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < @rows),
           calls AS (
             SELECT n, CASE WHEN n % 5 < 2 THEN @userId ELSE 'usr_other_' || (n * 7919 % @otherUsers) END AS user_id FROM numbers
           )
         INSERT INTO usage_logs
           (user_id, agent_id, model, input_tokens, output_tokens, cost_micro_usd, endpoint, latency_ms, created_at)
         SELECT user_id, 'agent-' || (n * 104729 / 5 % ${AGENTS_PER_USER}) || substr(user_id, -6),
           CASE n * 15485863 / 5 % 4 WHEN 0 THEN '${AI[1]}' ELSE '${AI[0]}' END,
           200 + n * 31 % 3000, 50 + n * 17 % 900, 100 + n * 13 % 5000, '/v1/chat/completions', 300 + n * 7 % 4000,
           @now - CAST((@rows - 1 - n) * (@days * 86400000.0 / @rows) AS INTEGER)
         FROM calls`,
      )
      .run({ rows, userId, otherUsers, days, now: Date.now() })
    sqlite.exec(`INSERT INTO usage_days (user_id, day, agent_id, model, input_tokens, output_tokens, cost_micro_usd, calls)
      SELECT user_id, date(created_at / 1000, 'unixepoch') AS day, agent_id, model,
        sum(input_tokens), sum(output_tokens), sum(cost_micro_usd), count(*)
      FROM usage_logs GROUP BY user_id, day, agent_id, model`)
    sqlite.exec(`INSERT INTO usage_months (user_id, month, tokens)
      SELECT user_id, substr(day, 1, 7) AS month, sum(input_tokens + output_tokens) FROM usage_days GROUP BY user_id, month`)
  })()
  sqlite.close()
}

/** Returns the number of rows that the dashboard of `userId` adds up for the last 30 days. */
export function countDailySums(file: string, userId: string): number {
  const sqlite = new Database(file, { readonly: true })
  const row = sqlite
    .prepare<[string], { sums: number }>(
      `SELECT count(*) AS sums FROM usage_days WHERE user_id = ? AND day > date('now', '-30 days')`,
    )
    .get(userId)
  sqlite.close()
  return row?.sums ?? 0
}

/** Returns the id of the account with this email address. */
export function findUserId(file: string, email: string): string {
  const sqlite = new Database(file, { readonly: true })
  const row = sqlite.prepare<[string], { id: string }>('SELECT id FROM users WHERE email = ?').get(email)
  sqlite.close()
  if (!row) throw new Error(`No account has the address ${email}`)
  return row.id
}
