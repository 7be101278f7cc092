import { expect, test } from 'bun:test'
import { existsSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { z } from 'zod'
import { createAgent, signIn, signUp } from '../../harness/client.ts'
import { type Installation, openInstallation } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'

const PATIENCE_MS = 600_000
const OTHER_KEY = 'another key that was never used here'

/** Creates an installation with one agent and stops the service. @returns the paths of its database and key. */
async function openSealed() {
  const installation = await openInstallation()
  const program = await installation.start()
  await createAgent(await signUp(program.urls.web))
  await program.stop()
  return {
    installation,
    database: join(installation.dataDir, 'stead.db'),
    key: join(installation.dataDir, 'encryption.key'),
  }
}

/** Output and exit code of a failed start. */
async function startFailing(installation: Installation, environment: Record<string, string> = {}) {
  const { exitCode, stdout, stderr } = await installation.run(['serve'], { environment })
  return { exitCode, stdout, stderr }
}

test(
  'the start ends with 78 and one line, which doctor shows, when the key is missing, wrong or cut',
  async () => {
    const { installation, database, key } = await openSealed()
    await using _installation = installation
    const safe = `${key}.safe`
    renameSync(key, safe)
    const before = readSchema(database)

    const drop = `or drop all that it sealed: DATA_DIR=${installation.dataDir} stead rotate-key --drop-sealed`
    const restore = `stead backup restore FILE --data-dir ${installation.dataDir}-restored takes it out of a backup: copy encryption.key from there`
    const putBack = `Either put that key back (${restore}), ${drop}`
    const setAgain = `Either set ENCRYPTION_KEY to that key again, ${drop}`
    const missing = `${key} is missing: ${database} was sealed with it. ${putBack}`
    expect(await startFailing(installation)).toEqual({
      exitCode: 78,
      stdout: '',
      stderr: `stead: ENCRYPTION_KEY: ${missing}\n`,
    })
    expect(existsSync(key)).toBe(false)
    expect((await installation.run(['doctor'])).stdout).toContain(`✗ encryption key: ${missing}`)

    writeFileSync(key, OTHER_KEY, { mode: 0o600 })
    const wrong = `${key} is not the key that ${database} was sealed with. ${putBack}`
    expect(await startFailing(installation)).toEqual({
      exitCode: 78,
      stdout: '',
      stderr: `stead: ENCRYPTION_KEY: ${wrong}\n`,
    })
    const doctor = await installation.run(['doctor'])
    expect(doctor.exitCode).toBe(1)
    expect(doctor.stdout).toContain(`✗ encryption key: ${wrong}`)
    const given = `the key given is not the key that ${database} was sealed with. ${setAgain}`
    expect(await startFailing(installation, { ENCRYPTION_KEY: OTHER_KEY })).toMatchObject({
      exitCode: 78,
      stderr: `stead: ENCRYPTION_KEY: ${given}\n`,
    })

    writeFileSync(key, '', { mode: 0o600 })
    expect(await startFailing(installation)).toMatchObject({
      exitCode: 78,
      stderr: `stead: ENCRYPTION_KEY: ${key} holds no key. ${putBack}\n`,
    })
    expect(readSchema(database)).toEqual(before)

    renameSync(safe, key)
    expect((await installation.run(['doctor'])).stdout).toContain('✓ encryption key: fits the database')
    const program = await installation.start()
    await signIn(program.urls.web)
    expect((await program.stop()).exitCode).toBe(0)

    // Older databases do not name their key.
    const sqlite = new Database(database)
    sqlite.exec('DELETE FROM sealing')
    sqlite.close()
    expect(await startFailing(installation, { ENCRYPTION_KEY: OTHER_KEY })).toMatchObject({ exitCode: 78, stdout: '' })
    renameSync(key, `${key}.safe`)
    expect(await startFailing(installation)).toMatchObject({ exitCode: 78, stdout: '' })
    renameSync(`${key}.safe`, key)
    await (await installation.start()).stop()
    expect(await startFailing(installation, { ENCRYPTION_KEY: OTHER_KEY })).toMatchObject({ exitCode: 78, stdout: '' })
  },
  PATIENCE_MS,
)

test(
  'a database without encrypted values gets its key at the first start',
  async () => {
    await using installation = await openInstallation()
    const made = await installation.run(['user', 'create', 'ada@example.com', '--password-stdin'], {
      stdin: 'correct horse battery staple',
    })
    expect(made.exitCode).toBe(0)
    const key = join(installation.dataDir, 'encryption.key')
    expect(existsSync(key)).toBe(false)
    await (await installation.start()).stop()
    expect(existsSync(key)).toBe(true)
    unlinkSync(key)
    expect(await startFailing(installation)).toMatchObject({ exitCode: 78, stdout: '' })
  },
  PATIENCE_MS,
)

test(
  'rotate-key --drop-sealed: exits with 2 and the lost secrets without --yes; with it the service starts and agents get new tokens',
  async () => {
    await using installation = await openInstallation({ environment: { AI_ECHO: 'true' } })
    const program = await installation.start()
    const person = await signUp(program.urls.web)
    const agentId = await createAgent(person)
    const tokenOf = async (by: typeof person) =>
      Token.parse(await (await by.get(`/api/agents/${agentId}/token`)).json())
    const before = await tokenOf(person)
    const wallet = Wallet.parse(await (await person.post('/api/wallet', { action: 'create' })).json())
    expect(await installation.run(['rotate-key', '--drop-sealed', '--yes'])).toMatchObject({ exitCode: 75, stdout: '' })
    await program.stop()
    expect(await installation.run(['rotate-key', '--drop-sealed', '--yes'])).toMatchObject({
      exitCode: 1,
      stderr: 'stead: rotate-key: the present key opens every sealed value: nothing to drop\n',
    })
    const key = join(installation.dataDir, 'encryption.key')
    const lostKey = readFileSync(key, 'utf8')
    unlinkSync(key)

    const listed = await installation.run(['rotate-key', '--drop-sealed'])
    expect(listed).toMatchObject({
      exitCode: 2,
      stderr: 'stead: rotate-key: nothing was changed; add --yes to drop these secrets for good\n',
    })
    expect(listed.stdout).toContain('1  gateway tokens of agents (replaced)\n')
    expect(listed.stdout).toMatch(new RegExp(`WARNING: the keys of these wallets are lost[^]+${wallet.address}`))
    expect(existsSync(key)).toBe(false)

    const dropped = await installation.run(['rotate-key', '--drop-sealed', '--yes', '--json'])
    expect({ ...dropped, stdout: '' }).toEqual({ exitCode: 0, stdout: '', stderr: '' })
    const { copy, keyFile, wallets } = Dropped.parse(JSON.parse(dropped.stdout))
    expect({ keyFile, wallets }).toEqual({ keyFile: key, wallets: [wallet.address] })
    expect(readFileSync(key, 'utf8')).not.toBe(lostKey)
    expect(readSchema(copy)).not.toEqual(readSchema(join(installation.dataDir, 'stead.db')))

    const again = await installation.start()
    const ada = await signIn(again.urls.web)
    const after = await tokenOf(ada)
    expect(after.token).not.toBe(before.token)
    const reply = await until('an answer of the agent with its new tokens', async () => {
      const response = await ada.post('/api/chat', { message: 'Are you back?', agentId })
      return response.status === 200 ? response.json() : null
    })
    expect(reply).toMatchObject({ reply: '[offline echo] Are you back?' })
    expect((await installation.run(['doctor'])).stdout).toContain('✓ sealed values: can be opened')
    expect((await again.stop()).exitCode).toBe(0)
  },
  PATIENCE_MS,
)

const Token = z.object({ token: z.string() })
const Wallet = z.object({ address: z.string() })
const Dropped = z.object({ copy: z.string(), keyFile: z.string(), wallets: z.array(z.string()) })

/** Reads the state that a failed start must not change. */
function readSchema(file: string): unknown {
  const sqlite = new Database(file, { readonly: true })
  try {
    return [sqlite.prepare('SELECT * FROM sealing').all(), sqlite.prepare('SELECT * FROM residence').all()]
  } finally {
    sqlite.close()
  }
}
