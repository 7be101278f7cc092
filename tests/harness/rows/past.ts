import Database from 'better-sqlite3'

const DAYS = 30
const HOURS = 30
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

/** Adds history for screenshots: a month of usage and hours of metrics, different for each agent and key. */
export function addPast(file: string, now: Date): void {
  const sqlite = new Database(file)
  sqlite.pragma('busy_timeout = 5000')
  const agents = sqlite
    .prepare<[], { id: string; owner: string; model: string }>('SELECT id, owner_id owner, model FROM agents')
    .all()
  const addDay = sqlite.prepare(
    `INSERT OR IGNORE INTO usage_days (user_id, day, agent_id, model, provider, input_tokens, output_tokens, cost_micro_usd, calls)
     VALUES (@owner, @day, @id, @model, 'openrouter', @tokens, @tokens / 3, @cost, @calls)`,
  )
  const addHour = sqlite.prepare(
    `INSERT OR IGNORE INTO watchdog_hours (agent_id, hour, up_ms, down_ms, unknown_ms) VALUES (@id, @hour, @up, @down, 0)`,
  )
  const keys = sqlite.prepare<[], { id: string; owner: string }>('SELECT id, user_id owner FROM api_keys').all()
  const addKeyDay = sqlite.prepare(
    `INSERT OR IGNORE INTO usage_key_days (user_id, day, key_id, model, tokens, cost_micro_usd, calls)
     VALUES (@owner, @day, @keyId, @model, @tokens, @cost, @calls)`,
  )
  const addKeyMonth = sqlite.prepare(
    `INSERT OR IGNORE INTO usage_key_months (key_id, month, tokens, cost_micro_usd, calls)
     SELECT key_id, substr(day, 1, 7), sum(tokens), sum(cost_micro_usd), sum(calls) FROM usage_key_days GROUP BY 1, 2`,
  )
  const hour = Math.floor(now.getTime() / HOUR_MS)
  sqlite.transaction(() => {
    for (const [index, agent] of agents.entries()) {
      for (let back = 0; back < DAYS; back++) {
        const calls = BigInt(6 + ((back * 7 + index * 13) % 23))
        const day = new Date(now.getTime() - back * DAY_MS).toISOString().slice(0, 10)
        addDay.run({ ...agent, day, calls, tokens: calls * 2_400n, cost: calls * BigInt(21_000 + index * 9_000) })
      }
      for (let back = 1; back < HOURS - index * 4; back++) {
        const downMs = (back + index * 5) % 17 === 0 ? 1_500_000 : 0
        addHour.run({ id: agent.id, hour: BigInt(hour - back), up: BigInt(HOUR_MS - downMs), down: BigInt(downMs) })
      }
    }
    for (const [index, key] of keys.entries()) {
      for (let back = 0; back < DAYS; back++) {
        const calls = BigInt(3 + ((back * 5 + index * 11) % 17))
        const day = new Date(now.getTime() - back * DAY_MS).toISOString().slice(0, 10)
        const used = { ...key, day, calls, model: 'openai/gpt-4o-mini', cost: calls * 31_000n }
        addDay.run({ ...used, id: 'direct', tokens: calls * 3_000n })
        addKeyDay.run({ ...used, keyId: key.id, tokens: calls * 4_000n })
      }
    }
    addKeyMonth.run()
  })()
  sqlite.close()
}
