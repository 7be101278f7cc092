import { expect, test } from 'bun:test'
import { existsSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { createAgent, signIn, signUp } from '../harness/client.ts'
import { type House, openHouse } from '../harness/server.ts'

const PATIENCE_MS = 600_000
const OTHER_KEY = 'another key that was never used here'

/** An installation with one agent, whose service has ended; where its database and its key are. */
async function openSealed() {
  const house = await openHouse()
  const program = await house.start()
  await createAgent(await signUp(program.urls.web))
  await program.stop()
  return { house, database: join(house.dataDir, 'stead.db'), key: join(house.dataDir, 'encryption.key') }
}

/** What a start that cannot be says, and its exit code. */
async function startInVain(house: House, environment: Record<string, string> = {}) {
  const { exitCode, stdout, stderr } = await house.run(['serve'], { environment })
  return { exitCode, stdout, stderr }
}

test(
  'a key that is missing, wrong or cut stops the start with 78 and one line, and doctor sees it; a database of before that does not name its key is tried with what it holds',
  async () => {
    const { house, database, key } = await openSealed()
    await using _house = house
    const safe = `${key}.safe`
    renameSync(key, safe)
    const before = readSchema(database)

    const missing = `${key} is missing: ${database} was sealed with it`
    expect(await startInVain(house)).toEqual({
      exitCode: 78,
      stdout: '',
      stderr: `stead: ENCRYPTION_KEY: ${missing}\n`,
    })
    expect(existsSync(key)).toBe(false)
    expect((await house.run(['doctor'])).stdout).toContain(`✗ encryption key: ${missing}`)

    writeFileSync(key, OTHER_KEY, { mode: 0o600 })
    const wrong = `${key} is not the key that ${database} was sealed with`
    expect(await startInVain(house)).toEqual({ exitCode: 78, stdout: '', stderr: `stead: ENCRYPTION_KEY: ${wrong}\n` })
    const doctor = await house.run(['doctor'])
    expect(doctor.exitCode).toBe(1)
    expect(doctor.stdout).toContain(`✗ encryption key: ${wrong}`)
    const given = `the key given is not the key that ${database} was sealed with`
    expect(await startInVain(house, { ENCRYPTION_KEY: OTHER_KEY })).toMatchObject({
      exitCode: 78,
      stderr: `stead: ENCRYPTION_KEY: ${given}\n`,
    })

    writeFileSync(key, '', { mode: 0o600 })
    expect(await startInVain(house)).toMatchObject({
      exitCode: 78,
      stderr: `stead: ENCRYPTION_KEY: ${key} holds no key\n`,
    })
    expect(readSchema(database)).toEqual(before)

    renameSync(safe, key)
    expect((await house.run(['doctor'])).stdout).toContain('✓ encryption key: fits the database')
    const program = await house.start()
    await signIn(program.urls.web)
    expect((await program.stop()).exitCode).toBe(0)

    // A database of before names no key.
    const sqlite = new Database(database)
    sqlite.exec('DELETE FROM sealing')
    sqlite.close()
    expect(await startInVain(house, { ENCRYPTION_KEY: OTHER_KEY })).toMatchObject({ exitCode: 78, stdout: '' })
    renameSync(key, `${key}.safe`)
    expect(await startInVain(house)).toMatchObject({ exitCode: 78, stdout: '' })
    renameSync(`${key}.safe`, key)
    await (await house.start()).stop()
    expect(await startInVain(house, { ENCRYPTION_KEY: OTHER_KEY })).toMatchObject({ exitCode: 78, stdout: '' })
  },
  PATIENCE_MS,
)

test(
  'a database that a command has made, with nothing sealed in it, gets its key at the first start',
  async () => {
    await using house = await openHouse()
    const made = await house.run(['user', 'create', 'ada@example.com', '--password-stdin'], {
      stdin: 'correct horse battery staple',
    })
    expect(made.exitCode).toBe(0)
    const key = join(house.dataDir, 'encryption.key')
    expect(existsSync(key)).toBe(false)
    await (await house.start()).stop()
    expect(existsSync(key)).toBe(true)
    unlinkSync(key)
    expect(await startInVain(house)).toMatchObject({ exitCode: 78, stdout: '' })
  },
  PATIENCE_MS,
)

/** What a start that goes wrong must not have changed. */
function readSchema(file: string): unknown {
  const sqlite = new Database(file, { readonly: true })
  try {
    return [sqlite.prepare('SELECT * FROM sealing').all(), sqlite.prepare('SELECT * FROM residence').all()]
  } finally {
    sqlite.close()
  }
}
