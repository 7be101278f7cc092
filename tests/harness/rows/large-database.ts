import Database from 'better-sqlite3'

/** Size of a database; other tables grow in proportion. */
export type Size = { usageRows: number; messages: number }

/** The busy account and its busy agent, which own most of the rows. */
export type Heavy = { userId: string; agentId: string; taskId: string; swarmId: string }

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** Percentage of usage and message rows that belong to the busy account. */
const OWN_PERCENT = 80
/** Other agents of the busy account. */
const OTHER_AGENTS = 60
/** Number of other accounts, with one agent each. */
const OTHER_PEOPLE = 100_000
const MODELS = 12

/**
 * Fills a migrated database with rows as after years of use; the busy account owns most of them. Only SQL generates
 * rows, so a million take seconds.
 */
export function fillDatabase(file: string, heavy: Heavy, size: Size, now: Date): void {
  const sqlite = new Database(file)
  sqlite.pragma('busy_timeout = 5000')
  sqlite.pragma('synchronous = OFF')
  sqlite.pragma('cache_size = -262144')
  const part = size.messages / 300_000
  const rows = (full: number) => Math.max(20, Math.round(full * part))
  const own = { ...heavy, now: now.getTime() }
  sqlite.transaction(() => {
    addPeople(sqlite, own, rows)
    addUsage(sqlite, own, size.usageRows)
    addTalk(sqlite, own, size.messages, rows)
    addTraces(sqlite, own, rows)
    addSamples(sqlite, own, part)
    addHistory(sqlite, own, rows)
  })()
  sqlite.close()
}

/** Adds `messages` messages to an agent. */
export function fillAgent(file: string, whose: Pick<Heavy, 'userId' | 'agentId'>, messages: number, now: Date): void {
  const sqlite = new Database(file)
  sqlite.pragma('busy_timeout = 5000')
  fill(
    sqlite,
    { ...whose, taskId: '', swarmId: '', now: now.getTime() },
    messages,
    `INSERT INTO messages (id, user_id, agent_id, sender, content, status, created_at)
     SELECT 'msg_of_' || @agentId || n, @userId, @agentId, iif(n % 2, 'agent', 'user'), 'What was said ' || n, 'sent', @now - n
     FROM numbers`,
  )
  sqlite.close()
}

type Own = Heavy & { now: number }
type Rows = (full: number) => number

/** Runs `sql` with a table `numbers(n)` from 0 to `rows` - 1 and the named parameters of `own`. */
function fill(sqlite: Database.Database, own: Own, rows: number, sql: string): void {
  // Bound as bigint, because SQLite stores a JavaScript number as REAL and divides without truncation.
  const values: Record<string, string | bigint> = { ...own, now: BigInt(own.now), rows: BigInt(rows) }
  const numbers = 'WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < @rows)'
  const named = Object.entries(values).filter(([name]) => name === 'rows' || sql.includes(`@${name}`))
  sqlite.prepare(`${numbers} ${sql}`).run(Object.fromEntries(named))
}

function addPeople(sqlite: Database.Database, own: Own, rows: Rows): void {
  const others = rows(OTHER_PEOPLE)
  fill(
    sqlite,
    own,
    others,
    `INSERT INTO users (id, email, name, created_at, updated_at)
     SELECT 'usr_other_' || n, 'other' || n || '@example.com', 'Other ' || n, @now - n * 1000, @now FROM numbers`,
  )
  fill(
    sqlite,
    own,
    rows(2000),
    `INSERT INTO sessions (token_hash, user_id, created_at, expires_at, last_seen_at, user_agent, address)
     SELECT 'filled-session-' || n, @userId, @now - n * 1000, @now + ${DAY_MS}, @now - n, 'A browser', '203.0.113.9' FROM numbers`,
  )
  const columns =
    'id, owner_id, name, model, plan, ai_provider, status, gateway_token, access_token, access_token_hash, created_at, updated_at'
  const values = `'Filled', 'openai/gpt-4o-mini', 'label', 'openrouter', 'stopped', '', '', 'filled-' || `
  fill(
    sqlite,
    own,
    OTHER_AGENTS,
    `INSERT INTO agents (${columns}) SELECT 'filled-agent-' || n, @userId, ${values} n, @now - n - 1000, @now FROM numbers`,
  )
  fill(
    sqlite,
    own,
    others,
    `INSERT INTO agents (${columns})
     SELECT 'other-agent-' || n, 'usr_other_' || n, ${values} 'other-' || n, @now - n - 1000, @now FROM numbers`,
  )
  fill(
    sqlite,
    own,
    rows(20_000),
    `INSERT INTO installations (id, user_id, owner_id, name, mode, status, registered_at, last_seen_at)
     SELECT 'filled-installation-' || n, iif(n < 49, @userId, 'nobody_' || n), iif(n < 49, @userId, NULL), 'machine ' || n,
       'home', 'inactive', @now - n, @now - n FROM numbers`,
  )
  fill(
    sqlite,
    own,
    rows(100_000),
    `INSERT INTO invites (code_hash, created_by, created_at)
     SELECT 'filled-invite-' || n, iif(n % 5 = 0, @userId, 'operator'), @now - n FROM numbers`,
  )
  fill(
    sqlite,
    own,
    Math.min(others, rows(5000)),
    `INSERT INTO referrals (new_user_id, referrer_id, credits, created_at)
     SELECT 'usr_other_' || n, @userId, 1, @now - n FROM numbers`,
  )
}

function addUsage(sqlite: Database.Database, own: Own, usageRows: number): void {
  fill(
    sqlite,
    own,
    usageRows,
    `INSERT INTO usage_logs (user_id, agent_id, model, provider, input_tokens, output_tokens, cost_micro_usd, endpoint,
       latency_ms, created_at, generation_id)
     SELECT iif(n % 100 < ${OWN_PERCENT}, @userId, 'usr_other_' || (n * 7919 % 500)),
       iif(n % 7 < 4, @agentId, 'filled-agent-' || (n * 31 % 9)), 'vendor/model-' || (n * 104729 % ${MODELS}), 'openrouter',
       200 + n * 31 % 3000, 50 + n * 17 % 900, 100 + n * 13 % 5000, '/v1/chat/completions', 300 + n * 7 % 4000,
       @now - CAST((@rows - 1 - n) * (${390 * DAY_MS}.0 / @rows) AS INTEGER), 'gen_filled_' || n
     FROM numbers`,
  )
  sqlite.exec(`INSERT OR IGNORE INTO usage_days
      (user_id, day, agent_id, model, provider, input_tokens, output_tokens, cost_micro_usd, calls)
    SELECT user_id, date(created_at / 1000, 'unixepoch') AS day, agent_id, model, provider,
      sum(input_tokens), sum(output_tokens), sum(cost_micro_usd), count(*)
    FROM usage_logs GROUP BY user_id, day, agent_id, model, provider`)
  sqlite.exec(`INSERT OR IGNORE INTO usage_months (user_id, month, tokens)
    SELECT user_id, substr(day, 1, 7) AS month, sum(input_tokens + output_tokens) FROM usage_days GROUP BY user_id, month`)
  fill(
    sqlite,
    own,
    Math.round(usageRows / 4),
    `INSERT INTO tool_events (user_id, agent_id, session_id, tool_name, success, duration_ms, created_at)
     SELECT iif(n % 100 < ${OWN_PERCENT}, @userId, 'usr_other_' || (n % 500)), @agentId, 'session', 'tool_' || (n % 40),
       n % 10 > 0, n % 1000, @now - CAST((@rows - 1 - n) * (${80 * DAY_MS}.0 / @rows) AS INTEGER) FROM numbers`,
  )
  sqlite.exec(`INSERT OR IGNORE INTO tool_days (user_id, day, agent_id, tool_name, calls, successes, timed_calls, duration_ms)
    SELECT user_id, date(created_at / 1000, 'unixepoch') AS day, agent_id, tool_name, count(*), sum(success), count(duration_ms), sum(duration_ms)
    FROM tool_events GROUP BY user_id, day, agent_id, tool_name`)
}

/** Adds a turn for each answer; some have two tool calls. */
function addTurns(sqlite: Database.Database): void {
  sqlite.exec(`INSERT INTO chat_turns (id, user_id, agent_id, question_id, reply_id, session_key, state, model, input_tokens,
      output_tokens, generation_ids, created_at, finished_at)
    SELECT 'turn_' || reply.id, reply.user_id, reply.agent_id, question.id, reply.id,
      'user:' || reply.user_id || ifnull(':' || reply.session_id, ''), 'done', 'vendor/model-1', 200, 50,
      json_array('gen_filled_' || reply.sequence), reply.created_at - 1000, reply.created_at
    FROM messages AS reply JOIN messages AS question ON question.sequence = reply.sequence - 1
    WHERE reply.id LIKE 'msg_filled_%' AND reply.sender = 'agent' AND question.sender = 'user'`)
  sqlite.exec(`INSERT INTO chat_tool_calls (turn_id, start, name, arguments, result, success, duration_ms)
    SELECT t.id, use.start, 'read_file', '{"path":"tea.md"}', printf('%.*c', iif(t.sequence % 200 = 0, 8000, 400), 'r'), 1, 12
    FROM chat_turns AS t JOIN (SELECT 0 AS start UNION ALL SELECT 1) AS use
    WHERE t.id LIKE 'turn_msg_filled_%' AND t.sequence % 4 = 0`)
}

function addTalk(sqlite: Database.Database, own: Own, messages: number, rows: Rows): void {
  fill(
    sqlite,
    own,
    rows(2000),
    `INSERT INTO chat_sessions (id, user_id, agent_id, created_at, last_activity)
     SELECT 'sess_filled_' || n, @userId, @agentId, @now - n * 1000, @now - n * 1000 FROM numbers`,
  )
  const sessions = rows(2000)
  fill(
    sqlite,
    own,
    messages,
    `INSERT INTO messages (id, user_id, agent_id, sender, content, topic, session_id, status, created_at)
     SELECT 'msg_filled_' || n,
       iif(n % 100 < ${OWN_PERCENT}, @userId, 'usr_other_' || (n * 7919 % 100)),
       CASE WHEN n % 100 >= ${OWN_PERCENT} THEN 'other-agent-' || (n * 7919 % 100) WHEN n % 25 = 0 THEN 'filled-agent-1' ELSE @agentId END,
       iif(n % 2, 'agent', 'user'),
       CASE WHEN n % 3000 = 1 THEN printf('%.*c', 100000, 'x') ELSE printf('What was said at turn %d. %.*c', n, 90, 'y') END,
       NULL, iif(n % 25 <> 0 AND n % 2 AND n % 100 < ${OWN_PERCENT}, 'sess_filled_' || (n * 31 % ${sessions}), NULL),
       'sent', @now - CAST((@rows - 1 - n) * (${100 * DAY_MS}.0 / @rows) AS INTEGER)
     FROM numbers`,
  )
  addTurns(sqlite)
  fill(
    sqlite,
    own,
    rows(50_000),
    `INSERT INTO inbox_messages (id, agent_id, sender, subject, text, status, reply, received_at)
     SELECT 'mail_filled_' || n, iif(n % 10 > 0, @agentId, 'other-agent-' || (n % 20)), 'sender' || (n % 50) || '@example.com',
       'Subject ' || n, printf('%.*c', 400, 'm'), 'delivered', 'Thank you', @now - n * 10000 FROM numbers`,
  )
  fill(
    sqlite,
    own,
    50 * 10,
    `INSERT OR IGNORE INTO agent_memory (agent_id, key, value, source, updated_at)
     SELECT iif(n < 50, @agentId, 'filled-agent-' || (n / 50)), 'fact-' || (n % 50),
       json_quote(printf('%.*c', ${rows(100_000)}, 'f')), 'user', @now - n FROM numbers`,
  )
  fill(
    sqlite,
    own,
    rows(80_000),
    `INSERT INTO log_lines (agent_id, at, stream, text, size_bytes)
     SELECT iif(n % 4, @agentId, 'filled-agent-' || (n % 40)), @now - (@rows - n) * 100, 'stdout',
       printf('A line of the log, number %d, with some words', n), 110 FROM numbers`,
  )
  sqlite.exec(`INSERT INTO log_sources (agent_id, size_bytes) SELECT agent_id, sum(size_bytes) FROM log_lines GROUP BY agent_id
    ON CONFLICT DO UPDATE SET size_bytes = excluded.size_bytes`)
}

function addTraces(sqlite: Database.Database, own: Own, rows: Rows): void {
  fill(
    sqlite,
    own,
    rows(1_000_000),
    `INSERT INTO audit_log (actor, action, target, detail, address, created_at)
     SELECT iif(n % 20, 'system', @userId), 'filled', iif(n % 30, 'usr_other_1', @userId), '{"what":"was done"}', '203.0.113.9', @now - (@rows - n) * 1000
     FROM numbers`,
  )
  fill(
    sqlite,
    own,
    rows(20_000),
    `INSERT INTO security_events (issuer, jti, claims, received_at, handled_at)
     SELECT 'https://idp.example', 'filled-' || n, '{"form":"current","events":{}}', @now - n * 1000, @now FROM numbers`,
  )
  fill(
    sqlite,
    own,
    49,
    `INSERT INTO scheduled_tasks (id, owner_id, agent_id, name, cron_schedule, timezone, prompt, enabled, created_at, updated_at)
     SELECT 'filled-task-' || n, @userId, @agentId, 'Task', '0 9 * * *', 'UTC', printf('%.*c', 5000, 'p'), 0, @now - n, @now FROM numbers`,
  )
  fill(
    sqlite,
    own,
    50 * 50,
    `INSERT INTO scheduled_runs (id, task_id, owner_id, agent_id, trigger, status, due_at)
     SELECT 'filled-run-' || n, iif(n < 49, @taskId, 'filled-task-' || (n % 49)), @userId, @agentId, 'manual', 'succeeded', @now - n * 1000 FROM numbers`,
  )
  fill(
    sqlite,
    own,
    99,
    `INSERT INTO swarms (id, owner_id, name, agents, created_at, updated_at)
     SELECT 'filled-swarm-' || n, @userId, 'Swarm', json_array(@agentId), @now - n, @now FROM numbers`,
  )
  fill(
    sqlite,
    own,
    rows(20_000),
    `INSERT INTO swarm_runs (id, swarm_id, owner_id, task, state, started_at)
     SELECT 'filled-swarm-run-' || n, iif(n < 199, @swarmId, 'filled-swarm-' || (n % 99)), @userId, 'Think', 'completed', @now - n * 1000 FROM numbers`,
  )
  fill(
    sqlite,
    own,
    rows(20_000),
    `INSERT INTO swarm_answers (run_id, agent_id, agent_name, position, message, state, reply)
     SELECT 'filled-swarm-run-' || n, @agentId, 'Filled', 0, 'Think', 'completed', printf('%.*c', 2000, 'r') FROM numbers`,
  )
  fill(
    sqlite,
    own,
    rows(1_000_000),
    `INSERT INTO jobs (id, kind, payload, status, run_at, created_at, finished_at)
     SELECT 'filled-job-' || n, 'accounts.mail', json_object('userId', @userId), iif(n % 4, 'done', 'dead'), @now - n / 9, @now - n, @now - n
     FROM numbers`,
  )
  fill(
    sqlite,
    own,
    rows(20_000),
    `INSERT INTO notification_deliveries (notification_id, channel, kind, agent_id, notification, created_at, delivered_at)
     SELECT 'filled-' || n, 'webhook', 'crash', @agentId, '{}', @now - n * 1000, @now FROM numbers`,
  )
  fill(
    sqlite,
    own,
    rows(20_000),
    `INSERT INTO webhook_events (source, id, type, outcome, received_at)
     SELECT 'email', 'filled-' || n, 'mail', 'processed', @now - n * 1000 FROM numbers`,
  )
  fill(
    sqlite,
    own,
    rows(20_000),
    `INSERT INTO throttles (key, count, reset_at) SELECT 'filled-' || n, 1, @now + ${HOUR_MS} FROM numbers`,
  )
  fill(
    sqlite,
    own,
    rows(5000),
    `INSERT INTO videos (id, user_id, type, prompt, status, created_at, finished_at)
     SELECT 'filled-video-' || n, @userId, 'demo', 'A film', 'completed', @now - n, @now FROM numbers`,
  )
  fill(
    sqlite,
    own,
    200,
    `INSERT INTO deployment_history (agent_id, kind, requested_by, status_before, step, result, log_tail, requested_at)
     SELECT iif(n < 50, @agentId, 'filled-agent-' || (n % 50)), 'restart', @userId, 'running', 'done', 'succeeded', printf('%.*c', 16000, 'l'), @now - n FROM numbers`,
  )
}

/** Adds metrics of each agent by minute and hour. */
function addSamples(sqlite: Database.Database, own: Own, part: number): void {
  const hours = Math.round(24 * 30 * Math.min(1, part * 2))
  const agentOf = (count: number) => `iif(n % ${count} = 0, @agentId, 'filled-agent-' || (n % ${count}))`
  fill(
    sqlite,
    own,
    Math.round(1440 * part) * OTHER_AGENTS,
    `INSERT OR IGNORE INTO agent_metrics (agent_id, sampled_at, cpu_percent, memory_bytes, memory_limit_bytes, messages, errors)
     SELECT ${agentOf(OTHER_AGENTS)}, @now - (n / ${OTHER_AGENTS}) * 60000, 1.0, 1000, 2000, 1, 0 FROM numbers`,
  )
  fill(
    sqlite,
    own,
    hours * OTHER_AGENTS,
    `INSERT OR IGNORE INTO agent_metric_hours (agent_id, hour, samples, measured, cpu_percent_sum, memory_percent_sum, messages, errors)
     SELECT ${agentOf(OTHER_AGENTS)}, (@now / ${HOUR_MS} - n / ${OTHER_AGENTS}) * ${HOUR_MS}, 60, 60, 60.0, 60.0, 1, 0 FROM numbers`,
  )
  fill(
    sqlite,
    own,
    hours * OTHER_AGENTS,
    `INSERT OR IGNORE INTO watchdog_hours (agent_id, hour, up_ms, down_ms, unknown_ms)
     SELECT ${agentOf(OTHER_AGENTS)}, @now / ${HOUR_MS} - n / ${OTHER_AGENTS}, ${HOUR_MS}, 0, 0 FROM numbers`,
  )
  fill(
    sqlite,
    own,
    hours,
    `INSERT OR IGNORE INTO platform_hours (hour, first_at, last_at, up_ms, message_sequence)
     SELECT (@now / ${HOUR_MS} - n) * ${HOUR_MS}, (@now / ${HOUR_MS} - n) * ${HOUR_MS}, (@now / ${HOUR_MS} - n) * ${HOUR_MS} + 3500000, 3500000, (SELECT max(sequence) FROM messages) FROM numbers`,
  )
}

/** Adds a million approvals, notifications and agent events each at full size, a tenth of them for the busy account. */
function addHistory(sqlite: Database.Database, own: Own, rows: Rows): void {
  fill(
    sqlite,
    own,
    rows(1_000_000),
    `INSERT INTO approvals (id, agent_id, tool, arguments, arguments_hash, status, decided_by, decided_via, created_at, expires_at, decided_at)
     SELECT 'filled-approval-' || n, iif(n % 10, 'other-agent-' || (n % 20), @agentId), 'delete_file', '{"path":"tea.md"}', 'hash-' || n,
       iif(n % 3, 'used', 'denied'), @userId, 'dashboard', @now - (@rows - n) * 1000, @now - (@rows - n) * 1000 + 900000, @now - (@rows - n) * 1000
     FROM numbers`,
  )
  fill(
    sqlite,
    own,
    rows(1_000_000),
    `INSERT INTO notices (id, user_id, agent_id, agent_name, kind, text, created_at, told_at, ended_at)
     SELECT 'filled-notice-' || n, iif(n % 10, 'usr_other_' || (n % 20), @userId), @agentId, 'Filled', 'down', 'It did not answer', @now - (@rows - n) * 1000,
       @now - (@rows - n) * 1000, iif(n % 1000, @now - (@rows - n) * 1000 + 500, NULL) FROM numbers`,
  )
  sqlite.exec(`INSERT INTO notice_deliveries (notice_id, channel_id, due_at, attempts, sent_at)
    SELECT id, 'mail', told_at, 1, told_at FROM notices WHERE id LIKE 'filled-notice-%'`)
  fill(
    sqlite,
    own,
    rows(1_000_000),
    `INSERT INTO watchdog_events (id, agent_id, kind, state, attempt, out_of_memory, at)
     SELECT 'filled-event-' || n, iif(n % 10, 'other-agent-' || (n % 20), @agentId), iif(n % 2, 'crash', 'recovered'), 'running', 0, 0,
       @now - (@rows - n) * 1000 FROM numbers`,
  )
  fill(
    sqlite,
    own,
    rows(1_000_000),
    `INSERT INTO webhook_deliveries (agent_id, delivery_id, id, conversation, text, status, reply, answer_status, received_at, answered_at)
     SELECT iif(n % 10, 'other-agent-' || (n % 20), @agentId), 'filled-' || n, 'filled-delivery-' || n, 'one', 'Hello', 'answered', 'Good day', 'sent', @now - n * 1000, @now - n * 1000
     FROM numbers`,
  )
  fill(
    sqlite,
    own,
    rows(400_000),
    `INSERT INTO deployment_history (agent_id, kind, requested_by, status_before, step, result, requested_at, finished_at)
     SELECT 'other-agent-' || (n % 20), iif(n % 10, 'restart', 'update'), 'operator', 'running', 'done',
       iif(n % 3, 'succeeded', 'failed'), @now - n * 1000, @now - n * 1000 FROM numbers`,
  )
}
