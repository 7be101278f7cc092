import { expect, test } from 'bun:test'
import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { refuse, startS3 } from '../../tests/harness/objects/s3-server.ts'
import { addMigratedDatabase } from '../../tests/harness/rows/migrated-file.ts'
import { STEAD } from '../../tests/harness/server.ts'
import { tempFolder } from '../../tests/harness/temp-folder.ts'
import { systemClock } from '../core/clock.ts'
import { readConfig } from '../core/config.ts'
import { createLog } from '../core/log.ts'
import { createSealer } from '../core/secrets.ts'
import { openDatabase } from '../db/open.ts'
import { openWriteQueue, write } from '../db/write.ts'
import { auditLog } from '../features/accounts/audit/tables.ts'
import { noteKey } from '../features/accounts/encryption/master-key.ts'
import { setServiceCredential } from '../features/accounts/service-credentials/service-credentials.ts'
import { createSessions } from '../features/accounts/sessions/sessions.ts'
import { users } from '../features/accounts/users/tables.ts'
import { openKey } from '../server/keys/encryption-key.ts'

/** The program on a data folder of its own, in a clean environment. */
function installation(settings: Record<string, string> = {}) {
  const folder = tempFolder()
  const dataDir = folder.file('data')
  const run = async (args: string[], stdin = '') => {
    const child = Bun.spawn([...STEAD, ...args], {
      env: { PATH: process.env.PATH ?? '', DATA_DIR: dataDir, ...settings },
      stdin: new Blob([stdin]),
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [stdout, stderr, exitCode] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ])
    return { stdout, stderr, exitCode }
  }
  return {
    ...folder,
    dataDir,
    databaseFile: join(dataDir, 'stead.db'),
    run,
    user: (...args: string[]) => run(['user', ...args]),
    async create() {
      await addMigratedDatabase(dataDir)
      return run(['user', 'create', 'Ada@example.com', '--password-stdin', '--plan', 'solo'], 'a long password\n')
    },
    audit() {
      const connection = openDatabase(join(dataDir, 'stead.db'))
      try {
        return connection.db.select().from(auditLog).all()
      } finally {
        connection.close()
      }
    },
  }
}

test('stead user …: prints text or JSON for every command and adds an audit entry with the actor cli', async () => {
  using home = installation()
  expect((await home.create()).stdout).toStartWith('Created ada@example.com (usr_')
  expect((await home.user('set-plan', 'ada@example.com', 'label')).stdout).toBe('ada@example.com is on plan label\n')
  expect((await home.user('set-credits', 'ada@example.com', '12')).stdout).toBe('ada@example.com has 12 credits\n')
  expect((await home.user('verify', 'ADA@example.com')).stdout).toBe('ada@example.com has a verified address\n')
  expect((await home.user('set-admin', 'ada@example.com', 'on')).stdout).toBe('ada@example.com is an admin\n')
  const off = await home.user('set-admin', 'ada@example.com', 'off', '--json')
  expect(JSON.parse(off.stdout)).toMatchObject({ user: { email: 'ada@example.com', isAdmin: false } })
  const disabled = await home.user('disable', 'ada@example.com', '--json')
  expect(JSON.parse(disabled.stdout)).toMatchObject({
    user: { email: 'ada@example.com', disabled: true, plan: 'label', credits: 12, emailVerified: true },
  })
  expect((await home.user('list')).stdout).toContain('\tdisabled')
  expect((await home.user('enable', 'ada@example.com')).stdout).toBe('ada@example.com is enabled\n')
  expect(JSON.parse((await home.user('end-sessions', 'ada@example.com', '--json')).stdout)).toMatchObject({ ended: 0 })
  expect((await home.user('remove-2fa', 'ada@example.com')).exitCode).toBe(0)
  const reset = await home.run(['user', 'reset-password', 'ada@example.com', '--password-stdin'], 'another password')
  expect(reset.stdout).toBe('ada@example.com has a new password; all sessions were ended\n')
  expect(JSON.parse((await home.user('list', '--json')).stdout)).toMatchObject({
    users: [{ email: 'ada@example.com', plan: 'label', disabled: false }],
  })

  const lines = home.audit()
  expect(new Set(lines.map(({ actor }) => actor))).toEqual(new Set(['cli']))
  expect(lines.map(({ action }) => action)).toEqual([
    'account.create',
    'account.change',
    'account.change',
    'account.change',
    'account.change',
    'account.change',
    'account.change',
    'account.change',
    'account.end-sessions',
    'account.remove-two-factor',
    'account.reset-password',
  ])
  expect(JSON.stringify(lines)).not.toMatch(/a long password|another password|argon2/)
}, 300_000)

test('stead ledger check: exits with 0 when all entries balance, else with 1 and the faults', async () => {
  using home = installation()
  await home.create()
  await home.user('set-credits', 'ada@example.com', '12')
  const right = await home.run(['ledger', 'check', '--json'])
  expect([right.exitCode, JSON.parse(right.stdout)]).toEqual([0, { entries: 1, lines: 2, accounts: 2, faults: [] }])
  const connection = openDatabase(home.databaseFile)
  connection.sqlite.exec("UPDATE ledger_accounts SET balance = -7 WHERE kind = 'grants'")
  connection.close()
  const wrong = await home.run(['ledger', 'check'])
  expect(wrong.exitCode).toBe(1)
  expect(wrong.stdout).toContain('account grants  (USD): the balance is -0.000007, its lines add up to -0.12')
}, 300_000)

test('stead user …: exits with 1 and one line on standard error when a command is rejected', async () => {
  using home = installation()
  await home.create()
  const cases: [args: string[], message: string][] = [
    [['disable', 'bo@example.com'], 'No account has the address bo@example.com'],
    [['set-credits', 'ada@example.com', 'many'], 'credits must be a whole number'],
    [['set-admin', 'bo@example.com', 'on'], 'No account has the address bo@example.com'],
    [['set-admin', 'ada@example.com', 'yes'], 'set-admin takes on or off'],
    [['set-plan', 'ada@example.com', 'gold'], 'Invalid plan. Supported: solo, collective, label, network'],
  ]
  for (const [args, message] of cases)
    expect(await home.user(...args)).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`^[^\\n]*${message}[^\\n]*\\n$`)),
    })
}, 300_000)

test('stead doctor: exits with 0 before the first start and creates no file', async () => {
  using home = installation({ AGENT_RUNTIME: 'process' })
  const { stdout, exitCode } = await home.run(['doctor', '--json'])
  expect(exitCode).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ ok: true })
  expect(existsSync(home.dataDir)).toBe(false)
}, 300_000)

test('stead doctor: prints warnings and exits with 0', async () => {
  using home = installation({
    ADMIN_EMAILS: 'root@example.com',
    INTERNAL_API_KEY: 'a'.repeat(40),
    AI_ECHO: 'true',
    AGENT_RUNTIME: 'process',
  })
  await home.create()
  const { stdout, exitCode } = await home.run(['doctor'])
  expect(exitCode).toBe(0)
  expect(stdout).toContain('✓ database: whole')
  expect(stdout).toContain('✓ schema: up to date')
  expect(stdout).toContain('✓ AI providers: echo (offline)')
  expect(stdout).toContain('! internal key: INTERNAL_API_KEY does not look random')
  expect(stdout).toContain('! admins: ADMIN_EMAILS is believed without proof')
  expect(stdout).toContain('! mail: SMTP_URL is not set and no server')
  expect(stdout).not.toContain('✗')
}, 300_000)

test('stead doctor: prints free disk, last and next backup, the mode, and what works without INTERNAL_API_KEY', async () => {
  using home = installation({ AGENT_RUNTIME: 'process' })
  await home.create()
  const lineOf = async (name: string) => {
    const { stdout } = await home.run(['doctor'])
    return stdout.split('\n').find((line) => line.slice(2).startsWith(`${name}: `))
  }
  expect(await lineOf('disk')).toMatch(new RegExp(`^✓ disk: [\\d.]+ GB free at ${home.dataDir}$`))
  expect(await lineOf('mode')).toBe('✓ mode: home, because INTERNAL_API_KEY is not set and DEPLOYMENT_MODE is not')
  expect(await lineOf('internal key')).toStartWith(
    '✓ internal key: INTERNAL_API_KEY is not set: keys of users (sk_…) work without it',
  )
  expect(await lineOf('backups')).toBe(
    '! backups: no schedule is set (BACKUP_SCHEDULE, or Backups in the dashboard), so none is made by itself; none was made yet',
  )
  writeFileSync(join(home.dataDir, 'stead.env'), 'BACKUP_SCHEDULE=0 3 * * * Europe/Berlin\n')
  const { sqlite, close } = openDatabase(home.databaseFile)
  const startedAt = Date.parse('2026-11-22T02:00:00Z')
  const insert = sqlite.prepare('INSERT INTO backup_runs (started_at, finished_at, error) VALUES (?, ?, ?)')
  insert.run(startedAt, startedAt + 1, null)
  const schedule = `backups: 0 3 \\* \\* \\* Europe/Berlin to ${home.dataDir}/backups; last 2026-11-22 02:00 UTC`
  const next = '; next \\d{4}-\\d\\d-\\d\\d 0[12]:00 UTC$'
  expect(await lineOf('backups')).toMatch(new RegExp(`^✓ ${schedule}${next}`))
  insert.run(startedAt, startedAt + 1, 'the disk is full')
  close()
  expect(await lineOf('backups')).toMatch(new RegExp(`^✗ ${schedule} failed: the disk is full${next}`))
  using full = installation({ MIN_FREE_DISK_MB: '99999999999' })
  expect((await full.run(['doctor'])).stdout).toContain('✗ disk: ')
}, 300_000)

test('stead doctor: prints whether OBJECTS_URL answers, and exits with 1 when it does not', async () => {
  await using s3 = await startS3()
  using folder = tempFolder()
  const toEnvironment = (address: string) => ({
    ...{
      AGENT_RUNTIME: 'process',
      OBJECTS_URL: address,
      S3_ENDPOINT: s3.settings.endpoint,
      S3_REGION: s3.settings.region,
    },
    ...{ S3_ACCESS_KEY_ID: s3.settings.accessKeyId, S3_SECRET_ACCESS_KEY: s3.settings.secretAccessKey },
  })
  const examineWith = async (address: string) => {
    using home = installation(toEnvironment(address))
    const { stdout, exitCode } = await home.run(['doctor'])
    return `${exitCode} ${stdout.split('\n').find((line) => line.includes('object store'))}`
  }
  expect(await examineWith(s3.address)).toContain(`0 ✓ object store: ${s3.address} answers`)
  expect(await examineWith(`file:${folder.path}`)).toContain(`0 ✓ object store: ${folder.path} answers`)
  expect(await examineWith(`file:${folder.path}/missing`)).toMatch(/^1 ✗ object store: OBJECTS_URL: /)
  s3.setFault(() => refuse(403, 'AccessDenied'))
  expect(await examineWith(s3.address)).toMatch(/^1 ✗ object store: OBJECTS_URL: /)
}, 300_000)

test('stead doctor: prints the schedule and place of backups of the dashboard unless the environment sets them', async () => {
  using home = installation({ AGENT_RUNTIME: 'process' })
  await home.create()
  const config = readConfig({ DATA_DIR: home.dataDir, AGENT_RUNTIME: 'process' })
  const sealer = createSealer(openKey(config))
  const connection = openDatabase(home.databaseFile)
  openWriteQueue(connection)
  await write(connection.db, (tx) => {
    noteKey(tx, sealer)
    const stored = { schedule: '30 4 * * * Europe/Berlin', to: home.file('elsewhere'), keep: null }
    setServiceCredential({ clock: systemClock, sealer }, tx, 'backups', JSON.stringify(stored))
  })
  connection.close()
  const backupsOf = (text: string) => text.split('\n').find((line) => line.slice(2).startsWith('backups: '))
  expect(backupsOf((await home.run(['doctor'])).stdout)).toStartWith(
    `✓ backups: 30 4 * * * Europe/Berlin (set in the dashboard) to ${home.file('elsewhere')}; none was made yet; next `,
  )
  writeFileSync(join(home.dataDir, 'stead.env'), 'BACKUP_SCHEDULE=0 3 * * * UTC\n')
  expect(backupsOf((await home.run(['doctor'])).stdout)).toStartWith(
    `✓ backups: 0 3 * * * UTC to ${home.file('elsewhere')}; none was made yet; next `,
  )
}, 300_000)

test('stead doctor and config check: print an error, and config check exits with 78, when a folder of a setting is not writable', async () => {
  using home = installation({ AGENT_RUNTIME: 'process', BACKUP_TO: '/dev/null/backups' })
  await home.create()
  const problem = 'BACKUP_TO: /dev/null/backups (below /dev/null) cannot be written (it is no folder)'
  const doctor = await home.run(['doctor'])
  expect([doctor.exitCode, doctor.stdout]).toEqual([1, expect.stringContaining(`✗ writable paths: ${problem}\n`)])
  expect(await home.run(['config', 'check'])).toEqual({ exitCode: 78, stdout: '', stderr: `stead: ${problem}\n` })
}, 300_000)

test('stead doctor --fix: creates a missing folder of a setting', async () => {
  using folder = tempFolder()
  const to = folder.file('backups')
  using home = installation({ AGENT_RUNTIME: 'process', BACKUP_TO: to })
  await home.create()
  expect((await home.run(['doctor'])).stdout).toContain(`! writable paths: BACKUP_TO: ${to} does not exist yet`)
  const fixed = await home.run(['doctor', '--fix'])
  expect(fixed.stdout).toStartWith(`mended: mkdir -p ${to}\n`)
  expect(fixed.stdout).toContain(`✓ writable paths: ${home.dataDir}, ${to}\n`)
  expect(statSync(to).mode & 0o777).toBe(0o700)
}, 300_000)

test('stead doctor --fix: restricts files that others can read, reports it, and changes nothing else', async () => {
  using home = installation({ AGENT_RUNTIME: 'process' })
  await home.create()
  chmodSync(home.databaseFile, 0o644)
  chmodSync(home.dataDir, 0o755)
  expect((await home.run(['doctor'])).exitCode).toBe(1)
  const fixed = await home.run(['doctor', '--fix'])
  expect([fixed.exitCode, fixed.stdout.split('\n').slice(0, 2)]).toEqual([
    0,
    [`mended: chmod 700 ${home.dataDir}`, `mended: chmod 600 ${home.databaseFile}`],
  ])
  expect([statSync(home.dataDir).mode & 0o777, statSync(home.databaseFile).mode & 0o777]).toEqual([0o700, 0o600])
  const again = JSON.parse((await home.run(['doctor', '--fix', '--json'])).stdout)
  expect(again).toMatchObject({ ok: true, mended: [] })
  await Bun.write(home.databaseFile, 'not a database at all, and long enough to be read as one'.repeat(100))
  expect((await home.run(['doctor', '--fix'])).exitCode).toBe(1)
}, 300_000)

test('stead doctor, config check and user list: use the mail server and keys set in the dashboard', async () => {
  using home = installation({
    DEPLOYMENT_MODE: 'cloud',
    ADMIN_EMAILS: 'root@example.com,ada@example.com',
    AGENT_RUNTIME: 'process',
  })
  await home.create()
  const isAdmin = async () => JSON.parse((await home.user('list', '--json')).stdout).users[0].isAdmin
  expect(await isAdmin()).toBe(true)
  const connection = openDatabase(home.databaseFile)
  try {
    const sealer = createSealer('a key that no command needs')
    openWriteQueue(connection)
    await write(connection.db, (tx) => {
      setServiceCredential({ clock: systemClock, sealer }, tx, 'mail', 'sealed')
      setServiceCredential({ clock: systemClock, sealer }, tx, 'provider-groq', 'sealed')
    })
  } finally {
    connection.close()
  }
  // Where mail leaves, an address of ADMIN_EMAILS counts once it is verified.
  expect(await isAdmin()).toBe(false)
  const { stdout } = await home.run(['doctor'])
  expect(stdout).toContain('✓ mail: sent by the server that was given in the dashboard')
  expect(stdout).toContain('✓ AI providers: groq (given in the dashboard)')
  expect(stdout).toContain('✓ admins: 2 addresses, each believed once it is verified')
  expect((await home.run(['config', 'check'])).stdout).toBe('The settings are good.\n')
}, 300_000)

test('stead doctor: exits with 1 when a database is damaged or readable by others, or a setting is invalid', async () => {
  using home = installation()
  await home.create()
  chmodSync(home.databaseFile, 0o644)
  const open = await home.run(['doctor'])
  expect([open.exitCode, open.stdout]).toEqual([
    1,
    expect.stringContaining(`✗ file modes: others can read ${home.databaseFile}`),
  ])
  expect(statSync(home.databaseFile).mode & 0o777).toBe(0o644)
  await Bun.write(home.databaseFile, 'not a database at all, and long enough to be read as one'.repeat(100))
  const damaged = await home.run(['doctor', '--json'])
  expect(damaged.exitCode).toBe(1)
  expect(JSON.parse(damaged.stdout).checks).toContainEqual({
    name: 'database',
    status: 'error',
    message: expect.any(String),
  })

  using wrong = installation({ WEB_PORT: 'none' })
  const bad = await wrong.run(['doctor'])
  expect([bad.exitCode, bad.stdout]).toEqual([1, expect.stringContaining('✗ settings: WEB_PORT')])
}, 300_000)

const CANARY = 'canary-0123456789-abcdefghijklmnop'
const SECRETS = {
  AGENT_RUNTIME: 'process',
  INTERNAL_API_KEY: CANARY,
  ENCRYPTION_KEY: CANARY,
  OPENROUTER_API_KEY: CANARY,
  OPENAI_API_KEY: CANARY,
  ANTHROPIC_API_KEY: CANARY,
  GEMINI_API_KEY: CANARY,
  GROQ_API_KEY: CANARY,
  IDP_A_CLIENT_SECRET: CANARY,
  IDP_B_CLIENT_SECRET: CANARY,
  SMTP_URL: `smtp://user:${CANARY}@mail.example.com:587`,
  BASE_RPC_URL: `https://rpc.example.com/v2/${CANARY}`,
  OPENAI_BASE_URL: `https://user:${CANARY}@models.example.com/v1?key=${CANARY}`,
}

test.each(['config print', 'config print --json', 'config check', 'doctor'])(
  'stead %s: shows no secret',
  async (command) => {
    using home = installation(SECRETS)
    const { stdout, stderr, exitCode } = await home.run(command.split(' '))
    expect(exitCode).toBe(0)
    expect(stdout + stderr).not.toContain(CANARY)
    if (command.includes('print')) expect(stdout).toContain('[set]')
  },
  300_000,
)

test('stead config print: prints settings by their variable, or one line and exit code 78 when one is invalid', async () => {
  using home = installation({ WEB_PORT: '4000', RATE_LIMIT_PASSWORD: '7' })
  const { stdout } = await home.run(['config', 'print'])
  expect(stdout).toContain('WEB_PORT=4000\n')
  expect(stdout).toContain('RATE_LIMIT_PASSWORD=7\n')
  using wrong = installation({ WEB_PORT: 'none' })
  const bad = await wrong.run(['config', 'check'])
  expect([bad.exitCode, bad.stderr.trim().split('\n').length]).toEqual([78, 1])
}, 300_000)

test('stead user set-admin: takes effect on a running server, in addition to ADMIN_EMAILS, and appears in doctor', async () => {
  using home = installation({ DEPLOYMENT_MODE: 'cloud', ADMIN_EMAILS: 'root@example.com' })
  await home.create()
  await home.run(['user', 'create', 'root@example.com', '--password-stdin'], 'a long password\n')
  const off = await home.user('set-admin', 'root@example.com', 'off')
  expect(off.stdout).toBe('root@example.com is still an admin: ADMIN_EMAILS names this address\n')

  const config = readConfig({ DATA_DIR: home.dataDir })
  const connection = openDatabase(config.databaseFile)
  openWriteQueue(connection)
  const sessions = createSessions({
    db: connection.db,
    clock: systemClock,
    log: createLog('silent'),
    rules: { adminEmails: [], requiresVerifiedEmail: false },
  })
  const [ada] = connection.db.select().from(users).where(eq(users.email, 'ada@example.com')).all()
  const token = await sessions.create(ada?.id ?? '')
  const isAdmin = async () => (await sessions.find(token))?.isAdmin
  expect(await isAdmin()).toBe(false)
  for (const [word, expected] of [
    ['on', true],
    ['off', false],
    ['on', true],
  ] as const) {
    await home.user('set-admin', 'ada@example.com', word)
    expect(await isAdmin()).toBe(expected)
  }
  connection.close()
  const doctor = installation({ DATA_DIR: home.dataDir })
  expect((await doctor.run(['doctor'])).stdout).toContain('admins: 1 made by stead user set-admin, or first at home')
  doctor[Symbol.dispose]()
}, 300_000)

test('stead user create: makes the first account in home mode an administrator with the plan network', async () => {
  using home = installation({ DEPLOYMENT_MODE: 'home' })
  const create = (email: string) =>
    home.run(['user', 'create', email, '--password-stdin', '--json'], 'a long password\n')
  expect(JSON.parse((await create('ada@example.com')).stdout)).toMatchObject({
    user: { isAdmin: true, plan: 'network' },
  })
  expect(JSON.parse((await create('eve@example.com')).stdout)).toMatchObject({
    user: { isAdmin: false, plan: 'network' },
  })
}, 300_000)

test('stead config schema: prints every setting with description and default as JSON Schema', async () => {
  using home = installation({ WEB_PORT: '4000' })
  const { stdout, exitCode } = await home.run(['config', 'schema', '--json'])
  expect(exitCode).toBe(0)
  const { properties } = z
    .object({ properties: z.record(z.string(), z.looseObject({ type: z.literal('string'), description: z.string() })) })
    .parse(JSON.parse(stdout))
  const shown = z
    .record(z.string(), z.unknown())
    .parse(JSON.parse((await home.run(['config', 'print', '--json'])).stdout))
  expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(shown)))
  expect(properties.WEB_PORT).toMatchObject({ default: '3000' })
  expect(properties.INTERNAL_API_KEY).toMatchObject({ writeOnly: true })
  expect(properties.INTERNAL_API_KEY_FILE).toBeDefined()
}, 300_000)

test('stead user create: gives the default plan to a second account in home mode unless --plan or DEFAULT_PLAN names another', async () => {
  using home = installation({ DEPLOYMENT_MODE: 'home' })
  await addMigratedDatabase(home.dataDir)
  const create = async (email: string, args: string[] = []) => {
    const created = await home.run(
      ['user', 'create', email, '--password-stdin', '--json', ...args],
      'a long password\n',
    )
    return JSON.parse(created.stdout).user
  }
  expect(await create('ada@example.com')).toMatchObject({ plan: 'network', isAdmin: true })
  expect(await create('bo@example.com')).toMatchObject({
    plan: 'network',
    subscriptionStatus: 'active',
    isAdmin: false,
  })
  expect(await create('cy@example.com', ['--plan', 'solo'])).toMatchObject({ plan: 'solo' })
  using cloud = installation({ DEPLOYMENT_MODE: 'cloud', DEFAULT_PLAN: 'label' })
  await addMigratedDatabase(cloud.dataDir)
  const args = ['user', 'create', 'ada@example.com', '--password-stdin']
  expect((await cloud.run(args, 'a long password\n')).stdout).toContain('plan label')
})

test('stead user: assigns, lists and counts plans of PLANS_FILE', async () => {
  using home = installation()
  const file = join(home.dataDir, 'plans.json')
  await addMigratedDatabase(home.dataDir)
  await Bun.write(file, JSON.stringify([{ name: 'family', agents: 2, usdPerMonth: 5, storageGb: 2 }]))
  // In home mode the first account is an administrator and has the plan network, independent of the default.
  using own = installation({
    DATA_DIR: home.dataDir,
    DEPLOYMENT_MODE: 'cloud',
    PLANS_FILE: file,
    DEFAULT_PLAN: 'family',
  })
  const created = await own.run(['user', 'create', 'ada@example.com', '--password-stdin'], 'a long password\n')
  expect(created.stdout).toContain('plan family')
  expect((await own.user('set-plan', 'ada@example.com', 'solo')).exitCode).toBe(0)
  expect((await own.user('set-plan', 'ada@example.com', 'family')).stdout).toBe('ada@example.com is on plan family\n')
  expect((await own.user('plans')).stdout).toContain(
    'family\tfile\t1 account\tall models, 2 agents, unlimited tokens a month, 5 USD a month, 2 GB',
  )
  expect(JSON.parse((await own.user('plans', '--json')).stdout)).toMatchObject({ defaultPlan: 'family' })
  expect((await own.user('set-plan', 'ada@example.com', 'gold')).stderr).toBe(
    'stead: Invalid plan. Supported: solo, collective, label, network, family\n',
  )
})

test.each<[string, string | null, Record<string, string>, string]>([
  ['a file that is missing', null, {}, 'PLANS_FILE: cannot be read'],
  ['what is no JSON', '{', {}, 'plans.json is not valid JSON'],
  ['no list', '{}', {}, 'must be a JSON list of plans'],
  [
    'a wrong limit',
    '[{"name":"a"},{"name":"b","agents":-1}]',
    {},
    '[1].agents must be a whole number from 0 to 100000',
  ],
  ['an unknown field', '[{"name":"a","agent":1}]', {}, '[0].agent is not a field of a plan'],
  ['a name twice', '[{"name":"a"},{"name":"a"}]', {}, 'the plan "a" is defined twice'],
  ['a plan of the interface', '[{"name":"solo"}]', {}, '[0].name is reserved'],
  ['an unknown DEFAULT_PLAN', '[{"name":"a"}]', { DEFAULT_PLAN: 'gold' }, 'DEFAULT_PLAN: must be one of free, solo'],
])('stead serve: exits with 78 and one line when given %s', async (_what, text, settings, message) => {
  using folder = tempFolder()
  const file = folder.file('plans.json')
  if (text !== null) await Bun.write(file, text)
  using home = installation({ PLANS_FILE: file, WEB_PORT: '0', BACKEND_PORT: '0', SUMMARIZER_PORT: '0', ...settings })
  const { exitCode, stderr } = await home.run(['serve'])
  expect([exitCode, stderr]).toEqual([78, expect.stringContaining(message)])
  expect(stderr.trim().split('\n')).toHaveLength(1)
})
