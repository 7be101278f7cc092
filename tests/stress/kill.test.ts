import { expect, test } from 'bun:test'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { CreatedKey, KeyList } from '../../src/features/accounts/keys/schemas.ts'
import { SentMessage } from '../../src/features/conversations/chat/schemas.ts'
import { createAgent, type Person, signUp } from '../harness/client.ts'
import { startProvider } from '../harness/doubles/provider.ts'
import { read } from '../harness/requests.ts'
import { roundsOf } from '../harness/rounds.ts'
import { addPeople } from '../harness/rows/people.ts'
import { openInstallation, type Program } from '../harness/server.ts'
import { withProvider } from '../integration/journeys/main-job.ts'

const KILLS = roundsOf('WRITE_KILLS', 2)
const WRITERS = 64
/** Below the limit of 25 keys per user. */
const MAX_KEYS = 20

test(`acknowledged writes persist and agents keep running after ${KILLS} kills during ${WRITERS} writers`, async () => {
  await using provider = await startProvider()
  await using installation = await openInstallation({ environment: withProvider(provider) })
  let program = await installation.start()
  const { web } = program.urls
  const owner = await signUp(web)
  const agentId = await createAgent(owner, { model: 'openai/gpt-4o-mini' })
  const pids = await installation.agentPids()
  const writers = addPeople(join(installation.dataDir, 'stead.db'), web, WRITERS).map(newWriter)

  for (let round = 0; round < KILLS; round++) {
    await writeUntilKilled(program, writers, 1 + ((round * 37) % 400))
    program = await installation.start()
    await Promise.all(writers.map(expectAcknowledged))
  }

  expect(await installation.agentPids()).toEqual(pids)
  const sent = await read(SentMessage, owner.post('/api/chat', { agentId, message: 'Are you still there?' }))
  expect(sent.reply).toBe('Hello.')
  expect((await program.stop()).exitCode).toBe(0)
  expect(checkIntegrity(join(installation.dataDir, 'stead.db'))).toEqual(['ok'])
}, 300_000)

/**
 * A client with the keys that must and must not exist, according to the responses. Keys of unanswered deletions are in
 * neither set.
 */
type Writer = { person: Person; present: Set<string>; gone: Set<string> }

function newWriter(person: Person): Writer {
  return { person, present: new Set(), gone: new Set() }
}

/** Lets all clients write concurrently and kills the service after `count` acknowledged writes. */
async function writeUntilKilled(program: Program, writers: Writer[], count: number): Promise<void> {
  let acknowledged = 0
  let killing: Promise<void> | undefined
  const writeOn = async (writer: Writer) => {
    while (await writeOnce(writer)) {
      acknowledged++
      if (acknowledged >= count) killing ??= program.kill()
    }
  }
  await Promise.all(writers.map(writeOn))
  await killing
}

/** Creates or deletes a key. @returns false when the service no longer responds. */
async function writeOnce({ person, present, gone }: Writer): Promise<boolean> {
  const oldest = present.size >= MAX_KEYS ? present.values().next().value : undefined
  if (oldest !== undefined) present.delete(oldest)
  try {
    const response = oldest ? await person.delete(`/api/keys/${oldest}`) : await person.post('/api/keys', { name: 'k' })
    const body: unknown = await response.json()
    expect({ status: response.status, body }).toMatchObject({ status: oldest ? 200 : 201 })
    if (oldest) gone.add(oldest)
    else present.add(CreatedKey.parse(body).id)
    return true
  } catch (error) {
    if (isConnectionError(error)) return false
    throw error
  }
}

function isConnectionError(error: unknown): boolean {
  return error instanceof Error && ('code' in error || error instanceof SyntaxError || error.name === 'TypeError')
}

async function expectAcknowledged({ person, present, gone }: Writer): Promise<void> {
  const { keys } = await read(KeyList, person.get('/api/keys'))
  const kept = new Set(keys.map(({ id }) => id))
  expect([...present].filter((id) => !kept.has(id))).toEqual([])
  expect([...gone].filter((id) => kept.has(id))).toEqual([])
  // Unanswered writes count as present from here on.
  for (const id of kept) present.add(id)
}

function checkIntegrity(file: string): unknown[] {
  const database = new Database(file, { readonly: true })
  try {
    const rows = database.prepare<[], { integrity_check: string }>('PRAGMA integrity_check').all()
    return rows.map((row) => row.integrity_check)
  } finally {
    database.close()
  }
}
