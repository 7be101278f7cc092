import { expect, onTestFinished, test } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { systemClock } from '../../../src/core/clock.ts'
import { createSealer } from '../../../src/core/secrets.ts'
import type { Connection } from '../../../src/db/open.ts'
import { write } from '../../../src/db/write.ts'
import { insertUser } from '../../../src/features/accounts/registration/register.ts'
import { users } from '../../../src/features/accounts/users/tables.ts'
import { findAgentRow, openTokens } from '../../../src/features/agents/registry/agents.ts'
import { agents } from '../../../src/features/agents/registry/tables.ts'
import { BROUGHT, LEFT_OUT } from '../../../src/server/backups/agent-rows.ts'
import { createBackup } from '../../../src/server/backups/create.ts'
import { restoreAgent } from '../../../src/server/backups/restore-agent.ts'
import {
  createFindWaiting,
  sweepRestoredStates,
  toRestoredStates,
} from '../../../src/server/backups/restored-states.ts'
import { openMigrated } from '../../../src/server/database.ts'
import { openKey } from '../../../src/server/keys/encryption-key.ts'
import { roundsOf } from '../../harness/rounds.ts'
import { STEAD } from '../../harness/server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { fillInstallation } from './installation.ts'

const KILLS = roundsOf('BACKUP_KILLS', 4)
const clock = systemClock

/** Adds messages, a turn in each state, a memory entry and a task. */
function addLife(sqlite: Connection['sqlite'], owner: string): void {
  sqlite.exec(`
    UPDATE agents SET owner_id = '${owner}', secret_config = NULL WHERE id = 'ada-1';
    INSERT INTO chat_sessions (id, user_id, agent_id, created_at, last_activity) VALUES ('s', '${owner}', 'ada-1', 1, 2);
    INSERT INTO messages (id, user_id, agent_id, sender, content, session_id, status, created_at) VALUES
      ('q1', '${owner}', 'ada-1', 'user', 'Good morning', 's', 'sent', 1), ('a1', '${owner}', 'ada-1', 'agent', 'Tea?', 's', 'sent', 2),
      ('q2', '${owner}', 'ada-1', 'user', 'Yes', NULL, 'sent', 3);
    INSERT INTO chat_turns (id, user_id, agent_id, question_id, reply_id, session_key, state, created_at) VALUES
      ('t1', '${owner}', 'ada-1', 'q1', 'a1', 'k', 'done', 1), ('t2', '${owner}', 'ada-1', 'q2', NULL, 'k', 'running', 3);
    INSERT INTO chat_turn_pieces (turn_id, start, text) VALUES ('t1', 0, 'Tea?'), ('t2', 0, 'One mo');
    INSERT INTO agent_memory (agent_id, key, value, source, created_at, updated_at) VALUES ('ada-1', 'tea', '"at four"', 'agent', 1, 1);
    INSERT INTO scheduled_tasks (id, owner_id, agent_id, name, cron_schedule, timezone, prompt, enabled, created_at, updated_at)
      VALUES ('task', '${owner}', 'ada-1', 'News', '0 9 * * *', 'UTC', 'Read', 1, 1, 1);`)
}

const KEPT = ['chat_sessions', 'messages', 'agent_memory', 'scheduled_tasks', 'message_days', 'agent_storage'] as const

function readLife({ sqlite }: Connection) {
  const ofAgent = KEPT.map((table) => [
    table,
    sqlite.prepare(`SELECT * FROM ${table} WHERE agent_id = 'ada-1' ORDER BY rowid`).all(),
  ])
  const search = sqlite.prepare("SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'morning'").pluck().get()
  return { ...Object.fromEntries(ofAgent), search }
}

async function openUsed() {
  const folder = tempFolder()
  const dataDir = folder.file('data')
  const config = await fillInstallation(dataDir)
  const { connection } = openMigrated(config.databaseFile, dataDir)
  onTestFinished(() => {
    connection.close()
    folder[Symbol.dispose]()
  })
  const account = { email: 'ada@example.com', name: 'Ada', passwordHash: 'x' }
  const owner = await write(connection.db, (tx) => insertUser(tx, account, { now: clock.now() }))
  addLife(connection.sqlite, owner.id)
  const { file } = await createBackup({ config, clock }, folder.file('out'))
  const key = openKey(config)
  const restore = (more: { agentId?: string; replaces?: boolean } = {}) =>
    restoreAgent(
      { connection, dataDir, key, clock },
      { file, agentId: 'ada-1', replaces: false, givenKey: null, ...more },
      () => {},
    )
  const erase = () => write(connection.db, (tx) => tx.delete(agents).where(eq(agents.id, 'ada-1')).run())
  return { folder, dataDir, config, connection, owner, file, key, restore, erase }
}

test('every table that is deleted with an agent is restored with it, or has a stated reason', async () => {
  const { connection } = await openUsed()
  const references = connection.sqlite
    .prepare<[], { table: string; to: string }>(
      `SELECT m.name AS "table", f."table" AS "to" FROM sqlite_master AS m, pragma_foreign_key_list(m.name) AS f
       WHERE m.type = 'table' AND f.on_delete = 'CASCADE'`,
    )
    .all()
  const gone = new Set(['agents'])
  for (let before = 0; before < gone.size; ) {
    before = gone.size
    for (const { table, to } of references) if (gone.has(to)) gone.add(table)
  }
  gone.delete('agents')
  expect([...gone].sort()).toEqual([...BROUGHT.map(({ table }) => table), ...Object.keys(LEFT_OUT)].sort())
})

test('a deleted agent is restored with its rows, new tokens and its state; other agents stay unchanged', async () => {
  const { connection, dataDir, restore, erase, key } = await openUsed()
  const before = { life: readLife(connection), row: findAgentRow(connection.db, 'ada-1') }
  const other = findAgentRow(connection.db, 'bo-1')
  await erase()
  expect(readLife(connection).messages).toEqual([])
  const restored = await restore()
  expect(readLife(connection)).toEqual(before.life)
  expect(findAgentRow(connection.db, 'bo-1')).toEqual(other)
  const row = findAgentRow(connection.db, 'ada-1')
  if (!row || !before.row) throw new Error('no row')
  expect({ ...row, status: '', gatewayToken: '', accessToken: '', accessTokenHash: '', updatedAt: 0 }).toEqual({
    ...{ ...before.row, status: '', gatewayToken: '', accessToken: '', accessTokenHash: '' },
    ...{ updatedAt: 0, restoredState: row.restoredState, port: null },
  })
  expect(row.status).toBe('stopped')
  expect(row.accessTokenHash).not.toBe(before.row.accessTokenHash)
  expect(openTokens(createSealer(key), row).gatewayToken).toStartWith('gw_')
  expect(readdirSync(toRestoredStates(dataDir))).toEqual([row.restoredState ?? ''])
  expect(createFindWaiting(connection.db)('ada-1')).toEqual([row.restoredState ?? '', 'ada-1.tar.gz'])
  expect(restored).toMatchObject({ replaced: false, agent: { id: 'ada-1', state: 'whole' } })
  expect(restored.missing).toEqual([
    '1 of 2 rows of chat_turns: they were unfinished, or rows they refer to no longer exist',
    '1 of 2 rows of chat_turn_pieces: they were unfinished, or rows they refer to no longer exist',
  ])
  expect(connection.sqlite.pragma('foreign_key_check')).toEqual([])
  expect(readdirSync(dataDir).filter((name) => name.startsWith('.restoring'))).toEqual([])
})

test('an existing agent is restored only with --replace and while stopped, and then equals the backup', async () => {
  const { connection, dataDir, restore } = await openUsed()
  const before = readLife(connection)
  await expect(restore()).rejects.toThrow('agent ada-1 exists: use --replace to overwrite it')
  connection.sqlite.exec(`UPDATE agents SET status = 'running' WHERE id = 'ada-1'`)
  await expect(restore({ replaces: true })).rejects.toThrow('ada-1 is running: stop it first')
  connection.sqlite.exec(`UPDATE agents SET status = 'stopped', port = 4711, name = 'Later' WHERE id = 'ada-1';
    UPDATE messages SET content = 'spoilt'; DELETE FROM agent_memory;`)
  expect(readdirSync(toRestoredStates(dataDir))).toEqual([])
  expect(await restore({ replaces: true })).toMatchObject({ replaced: true })
  expect(readLife(connection)).toEqual(before)
  expect(findAgentRow(connection.db, 'ada-1')).toMatchObject({ name: 'Ada', port: 4711, status: 'stopped' })
  // Repeats it: the staged copy of the first restore must be replaced.
  await restore({ replaces: true })
  expect(readdirSync(toRestoredStates(dataDir))).toHaveLength(1)
})

test('restoring an agent is refused when it is missing from the backup, owned by another user, being deleted or without owner', async () => {
  const { connection, dataDir, restore, erase, owner } = await openUsed()
  await expect(restore({ agentId: 'nobody' })).rejects.toThrow('there is no agent nobody')
  connection.sqlite.exec(`UPDATE agents SET owner_id = NULL WHERE id = 'ada-1'`)
  await expect(restore({ replaces: true })).rejects.toThrow('belongs to another account')
  await erase()
  connection.sqlite.exec(`INSERT INTO jobs (id, kind, payload, key, status, run_at, created_at)
    VALUES ('j', 'agents.remove', '{}', 'remove:ada-1', 'queued', 1, 1)`)
  await expect(restore()).rejects.toThrow('still being deleted')
  connection.sqlite.exec('DELETE FROM jobs')
  await write(connection.db, (tx) => tx.delete(users).where(eq(users.id, owner.id)).run())
  await expect(restore()).rejects.toThrow(`its owner's account ${owner.id} does not exist`)
  expect(findAgentRow(connection.db, 'ada-1')).toBeNull()
  expect(readdirSync(toRestoredStates(dataDir))).toEqual([])
})

test('one of two concurrent restores succeeds, and the other reports that the agent exists', async () => {
  const { dataDir, erase, file, connection } = await openUsed()
  await erase()
  const start = () =>
    Bun.spawn([...STEAD, 'backup', 'restore', file, '--agent', 'ada-1', '--json'], {
      env: { PATH: process.env.PATH ?? '', DATA_DIR: dataDir },
      stdout: 'ignore',
      stderr: 'pipe',
    })
  const both = [start(), start()]
  expect((await Promise.all(both.map(({ exited }) => exited))).sort()).toEqual([0, 1])
  const texts = await Promise.all(both.map(({ stderr }) => new Response(stderr).text()))
  expect(texts.join('')).toBe('stead: restore: agent ada-1 exists: use --replace to overwrite it\n')
  expect(readLife(connection).messages).toHaveLength(3)
}, 600_000)

test('stead backup restore --agent: the agent exists completely or not at all when the command is killed', async () => {
  const { connection, dataDir, erase, file } = await openUsed()
  const whole = readLife(connection)
  const args = [...STEAD, 'backup', 'restore', file, '--agent', 'ada-1']
  const run = async (ms: number) => {
    const child = Bun.spawn(args, {
      env: { PATH: process.env.PATH ?? '', DATA_DIR: dataDir },
      stdout: 'ignore',
      stderr: 'ignore',
    })
    const timer = setTimeout(() => child.kill('SIGKILL'), ms)
    await child.exited
    clearTimeout(timer)
  }
  await erase()
  const startedAt = performance.now()
  await run(120_000)
  const takesMs = performance.now() - startedAt
  const outcomes = { there: 0, not: 0 }
  for (let round = 0; round < KILLS; round++) {
    await erase()
    await run(takesMs * (0.4 + (0.8 * round) / KILLS))
    const row = findAgentRow(connection.db, 'ada-1')
    outcomes[row ? 'there' : 'not']++
    if (row) {
      expect(readLife(connection)).toEqual(whole)
      expect(existsSync(join(toRestoredStates(dataDir), row.restoredState ?? ''))).toBe(true)
    } else expect(connection.db.select({ n: sql<number>`count(*)` }).from(sql`messages`).get()?.n).toBe(0)
  }
  console.info(`killed ${KILLS} times: ${outcomes.there} were restored, ${outcomes.not} not at all`)
  await sweepRestoredStates(connection.db, toRestoredStates(dataDir))
}, 600_000)
