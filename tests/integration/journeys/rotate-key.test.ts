import { expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { z } from 'zod'
import { ROTATION_STEPS } from '../../../src/server/keys/rotate-key.ts'
import { createAgent, signIn, signUp } from '../../harness/client.ts'
import { read } from '../../harness/requests.ts'
import { type Installation, openInstallation } from '../../harness/server.ts'

const PATIENCE_MS = 600_000
const ROTATOR = join(import.meta.dir, '../../harness/programs/key-rotator.ts')
const FIRST = 'the first key that is given, 0123456789'
const SECOND = 'the_second_key_that_is_given_0123456789'
const THIRD = 'the_third_key_that_is_given_0123456789'

const Token = z.object({ token: z.string() })
const Rotated = z.object({
  changed: z.boolean(),
  sealed: z.number(),
  keyFile: z.string().nullable(),
  formerKeyFile: z.string().nullable(),
})

const CAN_BE_OPENED = '✓ sealed values: can be opened'
/**
 * Steps after whose kill the service is started to complete the rotation. `bun run stress keys` does so for every step;
 * for the others, CI only runs doctor.
 */
const STARTED: readonly string[] = process.env.EVERY_STEP ? ROTATION_STEPS : ['sealed', 'committed']
/** Steps after which the state differs for a restart. */
const RUN_AGAIN = process.env.EVERY_STEP ? ROTATION_STEPS : (['next key written', 'committed'] as const)

type Sealed = Awaited<ReturnType<typeof openSealed>>

/** Creates an installation with an agent, whose gateway token is encrypted, and stops the service. */
async function openSealed(environment: Record<string, string> = {}) {
  const installation = await openInstallation({ environment })
  const program = await installation.start()
  const person = await signUp(program.urls.web)
  const agentId = await createAgent(person)
  const { token } = await read(Token, person.get(`/api/agents/${agentId}/token`))
  const pids = await installation.agentPids()
  await program.stop()
  const keyFile = join(installation.dataDir, 'encryption.key')
  return {
    installation,
    pids,
    database: join(installation.dataDir, 'stead.db'),
    keyFile,
    readKey: () => readFileSync(keyFile, 'utf8'),
    /** Reads the key files. */
    readKeys: () => {
      const names = readdirSync(installation.dataDir).filter((name) => name.startsWith('encryption.key'))
      return names
        .sort()
        .map((name): [string, string] => [name, readFileSync(join(installation.dataDir, name), 'utf8')])
    },
    /** Starts the service and checks that encrypted values can be decrypted. */
    async expectOpens(more: Record<string, string> = {}, whileItRuns?: () => Promise<void>) {
      const again = await installation.start(more)
      const ada = await signIn(again.urls.web)
      expect((await read(Token, ada.get(`/api/agents/${agentId}/token`))).token).toBe(token)
      await whileItRuns?.()
      expect((await again.stop()).exitCode).toBe(0)
    },
  }
}

/** Starts a rotation, optionally between given keys, and kills it with SIGKILL after `step`. */
async function rotateAndDie(
  installation: Installation,
  step: string,
  given?: { present: string; next: string },
): Promise<void> {
  const environment: Record<string, string> = {
    DATA_DIR: installation.dataDir,
    ...(given && { ENCRYPTION_KEY: given.present }),
  }
  const rotator = Bun.spawn([process.execPath, ROTATOR, step, ...(given ? [given.next] : [])], {
    env: { PATH: process.env.PATH ?? '', ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const said = await new Response(rotator.stdout).text()
  await rotator.exited
  expect([step, said, rotator.signalCode]).toEqual([step, '', 'SIGKILL'])
}

test(
  'stead rotate-key: the new key decrypts everything, the old one is kept for backups, no value keeps its encryption, and agents keep running',
  async () => {
    const it = await openSealed()
    await using installation = it.installation
    const old = it.readKey()
    const sealed = readAll(it.database, 'SELECT gateway_token AS value FROM agents').map(
      (row) => Value.parse(row).value,
    )
    expect(sealed).toHaveLength(1)
    expect(readFileSync(it.database, 'latin1')).toContain(sealed[0] ?? '')
    const { exitCode, stdout, stderr } = await installation.run(['rotate-key'])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    for (const file of [it.database, `${it.database}-wal`].filter((name) => existsSync(name)))
      expect(readFileSync(file, 'latin1')).not.toContain(sealed[0] ?? '')
    const [present = ['', ''], former = ['', ''], ...others] = it.readKeys()
    expect(others).toEqual([])
    expect(present[0]).toBe('encryption.key')
    expect(present[1]).toMatch(/^\w{43}$/)
    expect(present[1]).not.toBe(old)
    expect(former).toEqual([expect.stringMatching(/^encryption\.key\.until-\d{8}T\d{9}Z$/), old])
    const formerFile = join(installation.dataDir, former[0])
    expect(stdout).toMatch(
      /^\d+ sealed values have the new key now: .*\/encryption\.key\nBackups made until now open with the key before, /,
    )
    expect(stdout).toContain(formerFile)
    for (const file of [it.keyFile, formerFile]) expect(statSync(file).mode & 0o777).toBe(0o600)
    const doctor = (await installation.run(['doctor'])).stdout
    expect(doctor).toContain('✓ encryption key: fits the database\n✓ sealed values: can be opened\n')

    // While the service runs, the command prints one line, exits with 75 and changes nothing.
    await it.expectOpens({}, async () => {
      expect(await installation.run(['rotate-key'])).toEqual({
        exitCode: 75,
        stdout: '',
        stderr: `stead: rotate-key: stop Stead first (DATA_DIR: another Stead is already running on ${installation.dataDir})\n`,
      })
      expect(it.readKeys()).toEqual([present, former])
    })
    expect(await installation.agentPids()).toEqual(it.pids)
    expect((await installation.run(['serve'], { environment: { ENCRYPTION_KEY: old } })).exitCode).toBe(78)
    const audit = readAll(it.database, "SELECT actor, target FROM audit_log WHERE action = 'key.rotated'")
    expect(audit).toEqual([{ actor: 'cli', target: 'installation' }])

    await expectNothingChanges(it)
  },
  PATIENCE_MS,
)

/**
 * Checks that a rotation with a wrong key, or with a value that the current key cannot decrypt, changes nothing and
 * that doctor names the value.
 */
async function expectNothingChanges({ installation, database, readKeys }: Sealed): Promise<void> {
  const keys = readKeys()
  const rotate = (environment = {}, args: string[] = []) =>
    installation.run(['rotate-key', ...args], { environment, stdin: SECOND })
  const drop = `or drop all that it sealed: DATA_DIR=${installation.dataDir} stead rotate-key --drop-sealed`
  const advice = `Either set ENCRYPTION_KEY to that key again, ${drop}`
  const given = `the key given is not the key that ${database} was sealed with. ${advice}`
  expect(await rotate({ ENCRYPTION_KEY: FIRST }, ['--key-stdin'])).toEqual({
    exitCode: 78,
    stdout: '',
    stderr: `stead: ENCRYPTION_KEY: ${given}\n`,
  })
  const sqlite = new Database(database)
  const { id } = Id.parse(sqlite.prepare("UPDATE agents SET gateway_token = 'v1.damaged' RETURNING id").get())
  sqlite.close()
  expect(await rotate()).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `stead: agents:gatewayToken:${id} cannot be opened with the present key\n`,
  })
  const doctor = await installation.run(['doctor'])
  expect(doctor.exitCode).toBe(1)
  expect(doctor.stdout).toContain(
    `✗ sealed values: agents:gatewayToken:${id} cannot be opened with the key: stead rotate-key`,
  )
  expect(readKeys().filter(([name]) => !name.endsWith('.next'))).toEqual(keys)
  if (!process.env.EVERY_STEP) return
  // The service starts with one value it cannot decrypt, and removes the incomplete rotation.
  const again = await installation.start()
  expect((await again.stop()).exitCode).toBe(0)
  expect(readKeys()).toEqual(keys)
}

test(
  'stead rotate-key with ENCRYPTION_KEY: reads the new key from standard input; when killed, exactly one key starts, and it can run again',
  async () => {
    const it = await openSealed({ ENCRYPTION_KEY: FIRST })
    await using installation = it.installation
    const rotate = async (next: string, environment = {}) => {
      const args = ['rotate-key', '--key-stdin', '--json']
      const { exitCode, stdout, stderr } = await installation.run(args, { stdin: `${next}\n`, environment })
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
      return Rotated.parse(JSON.parse(stdout))
    }
    const startsNotWith = async (key: string) =>
      expect((await installation.run(['serve'], { environment: { ENCRYPTION_KEY: key } })).exitCode).toBe(78)
    const first = await rotate(SECOND)
    expect(first).toMatchObject({ changed: true, keyFile: null, formerKeyFile: null })
    expect(first.sealed).toBeGreaterThan(1)
    const again = { changed: false, sealed: 0, keyFile: null, formerKeyFile: null }
    expect(await rotate(SECOND)).toEqual(again)
    expect(await rotate(SECOND, { ENCRYPTION_KEY: SECOND })).toEqual(again)
    expect(it.readKeys()).toEqual([])
    await startsNotWith(FIRST)

    await rotateAndDie(installation, 'sealed', { present: SECOND, next: THIRD })
    await startsNotWith(THIRD)
    await it.expectOpens({ ENCRYPTION_KEY: SECOND })
    expect((await rotate(THIRD, { ENCRYPTION_KEY: SECOND })).changed).toBe(true)

    await rotateAndDie(installation, 'committed', { present: THIRD, next: SECOND })
    await startsNotWith(THIRD)
    await it.expectOpens({ ENCRYPTION_KEY: SECOND })
    expect((await rotate(SECOND, { ENCRYPTION_KEY: THIRD })).changed).toBe(false)
    expect((await installation.run(['doctor'], { environment: { ENCRYPTION_KEY: SECOND } })).stdout).toContain(
      CAN_BE_OPENED,
    )
  },
  PATIENCE_MS,
)

test(
  'stead rotate-key: the next start has one of the two keys, which decrypts everything, when the command is killed at any step',
  async () => {
    const it = await openSealed()
    await using installation = it.installation
    for (const step of ROTATION_STEPS) {
      const old = it.readKey()
      await rotateAndDie(installation, step)
      const isChanged = ['committed', 'key in place'].includes(step)
      const doctor = (await installation.run(['doctor'])).stdout
      const line = step === 'committed' ? '! encryption key: a change was broken off' : '✓ encryption key: fits'
      expect([step, doctor]).toEqual([step, expect.stringContaining(line)])
      expect([step, doctor]).toEqual([step, expect.stringContaining(CAN_BE_OPENED)])
      if (!STARTED.includes(step)) continue
      await it.expectOpens()
      expect([step, it.readKey() === old]).toEqual([step, !isChanged])
      expect([step, it.readKeys().filter(([name]) => name.endsWith('.next'))]).toEqual([step, []])
      if (isChanged) expect(it.readKeys().filter(([, key]) => key === old)).toHaveLength(1)
    }
    for (const step of RUN_AGAIN) {
      await rotateAndDie(installation, step)
      expect((await installation.run(['rotate-key'])).exitCode).toBe(0)
    }
    expect((await installation.run(['doctor'])).stdout).toContain(CAN_BE_OPENED)
  },
  PATIENCE_MS,
)

test.each<[string, string[], { stdin?: string; environment?: Record<string, string> }, number, string | RegExp]>([
  [
    'the new key is not given',
    [],
    { environment: { ENCRYPTION_KEY: FIRST } },
    2,
    'rotate-key: ENCRYPTION_KEY is set: give the new key with --key-stdin',
  ],
  [
    'a new key is given, where the key is in a file',
    ['--key-stdin'],
    { stdin: SECOND },
    2,
    'rotate-key: --key-stdin is for when ENCRYPTION_KEY is set; without it the new key is made here',
  ],
  [
    'the new key is too short',
    ['--key-stdin'],
    { environment: { ENCRYPTION_KEY: FIRST }, stdin: 'secret-canary\n' },
    2,
    'rotate-key: standard input must hold one line of at least 16 characters without white space',
  ],
  [
    'the new key is two lines',
    ['--key-stdin'],
    { environment: { ENCRYPTION_KEY: FIRST }, stdin: `${SECOND}\n${SECOND}\n` },
    2,
    'rotate-key: standard input must hold one line of at least 16 characters without white space',
  ],
  ['an argument', ['now'], {}, 2, "too many arguments for 'rotate-key'. Expected 0 arguments but got 1: now."],
  ['no database', [], {}, 78, /^DATA_DIR: there is no \S+\/stead\.db: nothing is sealed yet$/],
])(
  'stead rotate-key, %s: prints one line and creates nothing',
  async (_what, args, options, exitCode, line) => {
    await using installation = await openInstallation()
    const finished = await installation.run(['rotate-key', ...args], options)
    expect(finished).toMatchObject({ exitCode, stdout: '' })
    expect(finished.stderr).toMatch(/^stead: [^\n]+\n$/)
    expect(finished.stderr.slice('stead: '.length, -1)).toMatch(line)
    expect(existsSync(installation.dataDir)).toBe(false)
  },
  PATIENCE_MS,
)

const Value = z.object({ value: z.string() })
const Id = z.object({ id: z.string() })

function readAll(file: string, query: string): unknown[] {
  const sqlite = new Database(file, { readonly: true })
  try {
    return sqlite.prepare(query).all()
  } finally {
    sqlite.close()
  }
}
