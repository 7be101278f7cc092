import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import manifest from '../../package.json' with { type: 'json' }
import { signIn, signUp } from '../../tests/harness/client.ts'
import { addMigratedDatabase } from '../../tests/harness/rows/migrated-file.ts'
import { type Installation, openInstallation } from '../../tests/harness/server.ts'
import { until } from '../../tests/harness/until.ts'
import { openDatabase } from '../db/open.ts'

const PASSWORD = 'correct horse battery staple'
const Users = z.object({ users: z.array(z.looseObject({ email: z.string(), plan: z.string() })) })

/** Runs `user …`, once before the service has ever been started and once beside it. */
const WHEN = ['stopped', 'running'] as const

async function platformThatIs(state: (typeof WHEN)[number]): Promise<Installation & { web: string }> {
  const installation = await openInstallation()
  const web = state === 'running' ? (await installation.start()).urls.web : ''
  return { ...installation, web }
}

async function listUsers(installation: Installation) {
  const { stdout } = await installation.run(['user', 'list', '--json'])
  return Users.parse(JSON.parse(stdout)).users
}

test.each(WHEN)(
  'stead user create, list, set-plan and reset-password succeed while the service is %s',
  async (state) => {
    await using installation = await platformThatIs(state)
    expect((await installation.run(['user', 'list'])).stdout).toBe('No accounts yet.\n')

    const created = await installation.run(['user', 'create', 'Ada@Example.com', '--password-stdin'], {
      stdin: `${PASSWORD}\n`,
    })
    expect(created).toMatchObject({ exitCode: 0, stderr: '' })
    // In home mode the first account is an administrator.
    expect(created.stdout).toMatch(/^Created ada@example\.com \(usr_\w{22}\), plan network\n$/)
    await installation.run(['user', 'create', 'bo@example.com', '--password-stdin', '--plan', 'label'], {
      stdin: PASSWORD,
    })
    expect(await listUsers(installation)).toMatchObject([
      { email: 'ada@example.com', plan: 'network' },
      { email: 'bo@example.com', plan: 'label' },
    ])

    const changed = await installation.run(['user', 'set-plan', 'ADA@example.com', 'solo'])
    expect(changed).toEqual({ exitCode: 0, stdout: 'ada@example.com is on plan solo\n', stderr: '' })
    expect(await listUsers(installation)).toMatchObject([{ email: 'ada@example.com', plan: 'solo' }, { plan: 'label' }])

    const reset = await installation.run(['user', 'reset-password', 'ada@example.com', '--password-stdin'], {
      stdin: 'new password',
    })
    expect(reset).toMatchObject({ exitCode: 0, stderr: '' })
    const web = installation.web || (await installation.start()).urls.web
    expect((await signIn(web, 'ada@example.com', 'new password')).email).toBe('ada@example.com')
    await expect(signIn(web, 'ada@example.com', PASSWORD)).rejects.toThrow('Invalid email or password')
  },
  300_000,
)

test('a running service applies changes of plan, sessions and password by the CLI at once', async () => {
  await using installation = await platformThatIs('running')
  await signUp(installation.web, 'owner@example.com')
  const ada = await signUp(installation.web, 'ada@example.com')
  expect((await ada.post('/api/agents/provision', {})).status).toBe(400)
  // In home mode every account has the default plan, `network`; the limit of `solo` is one agent.
  expect((await ada.post('/api/agents/provision', { name: 'Ada' })).status).toBe(201)
  await installation.run(['user', 'set-plan', 'ada@example.com', 'solo'])
  expect((await ada.post('/api/agents/provision', { name: 'Bo' })).status).toBe(429)

  await installation.run(['user', 'reset-password', 'ada@example.com', '--password-stdin'], { stdin: 'new password' })
  expect(await (await ada.get('/api/auth/session')).json()).toEqual({ user: null })
}, 300_000)

test('stead exits with 1 and one line on standard error, and writes nothing, when a command is rejected', async () => {
  await using installation = await openInstallation()
  await installation.run(['user', 'create', 'ada@example.com', '--password-stdin'], { stdin: PASSWORD })
  const cases: [string[], string, string][] = [
    [['create', 'ada@example.com', '--password-stdin'], PASSWORD, 'User already exists'],
    [['create', 'bo', '--password-stdin'], PASSWORD, 'Invalid email format'],
    [['create', 'bo@example.com', '--password-stdin'], 'short', 'Password must be at least 8 characters'],
    [['create', 'bo@example.com', '--password-stdin'], '', 'Email and password required'],
    [
      ['create', 'bo@example.com', '--password-stdin', '--plan', 'gold'],
      PASSWORD,
      'Invalid plan. Supported: solo, collective, label, network',
    ],
    [['set-plan', 'bo@example.com', 'solo'], '', 'No account has the address bo@example.com'],
    [['set-plan', 'ada@example.com', 'free'], '', 'Invalid plan. Supported: solo, collective, label, network'],
    [['reset-password', 'bo@example.com', '--password-stdin'], PASSWORD, 'No account has the address bo@example.com'],
    [['reset-password', 'ada@example.com', '--password-stdin'], 'short', 'Password must be at least 8 characters'],
  ]
  const finished = await Promise.all(cases.map(([args, stdin]) => installation.run(['user', ...args], { stdin })))
  expect(finished).toEqual(cases.map(([, , message]) => ({ exitCode: 1, stdout: '', stderr: `stead: ${message}\n` })))
  expect(await listUsers(installation)).toMatchObject([{ email: 'ada@example.com', plan: 'network' }])
}, 300_000)

test('stead user create: rejects a password on the command line, because other users could read it', async () => {
  await using installation = await openInstallation()
  const { exitCode, stderr } = await installation.run(['user', 'create', 'ada@example.com'])
  expect(exitCode).toBe(2)
  expect(stderr).toContain('--password-stdin')
})

test('stead version: prints text, or JSON with --json', async () => {
  await using installation = await openInstallation()
  const [text, json] = await Promise.all([installation.run(['version']), installation.run(['version', '--json'])])
  expect(text).toEqual({ exitCode: 0, stdout: `stead ${manifest.version} (bun ${Bun.version})\n`, stderr: '' })
  expect(JSON.parse(json.stdout)).toEqual({ stead: manifest.version, bun: Bun.version })
})

/** Commands that read the settings fail on an invalid one first. */
const READERS = [['serve'], ['migrate'], ['user', 'list']]

test.each([
  ['WEB_PORT', 'eighty'],
  ['AGENT_RUNTIME', 'kubernetes'],
  ['DATABASE_URL', 'postgres://somewhere'],
  ['ENCRYPTION_KEY', 'short'],
  ['OPENROUTER_API_KEY_FILE', '/nowhere/key'],
])(
  'every command that reads settings exits with 78 and one line when %s is invalid',
  async (name, value) => {
    await using installation = await openInstallation()
    // They read them in one place: each problem is shown by one of them, and one problem by all.
    for (const args of name === 'WEB_PORT' ? READERS : READERS.slice(0, 1)) {
      const { exitCode, stdout, stderr } = await installation.run(args, { environment: { [name]: value } })
      expect({ exitCode, stdout }).toEqual({ exitCode: 78, stdout: '' })
      expect(stderr).toMatch(new RegExp(`^stead: ${name}: [^\\n]+\\n$`))
    }
    expect(existsSync(installation.dataDir)).toBe(false)
  },
  300_000,
)

test('stead migrate: creates the database and changes nothing the second time; the service starts on it', async () => {
  await using installation = await openInstallation()
  const first = await installation.run(['migrate', '--json'])
  expect(first).toMatchObject({ exitCode: 0, stderr: '' })
  const { applied } = z.object({ applied: z.array(z.string()) }).parse(JSON.parse(first.stdout))
  expect(applied.length).toBeGreaterThan(0)
  expect(readdirSync(installation.dataDir)).toContain('stead.db')
  expect(await installation.run(['migrate'])).toEqual({
    exitCode: 0,
    stdout: 'The database is up to date.\n',
    stderr: '',
  })
  expect(JSON.parse((await installation.run(['migrate', '--json'])).stdout)).toEqual({ applied: [] })
  const program = await installation.start()
  expect(existsSync(join(installation.dataDir, 'encryption.key'))).toBe(true)
  const beside = await installation.run(['migrate', '--compact'])
  expect(beside.exitCode).toBe(75)
  expect(beside.stderr).toContain('another Stead is already running')
  expect((await program.stop()).exitCode).toBe(0)

  const file = join(installation.dataDir, 'stead.db')
  const { sqlite } = openDatabase(file)
  sqlite.exec(
    `CREATE TABLE filling (bytes BLOB) STRICT; INSERT INTO filling VALUES (zeroblob(20000000)); DROP TABLE filling`,
  )
  sqlite.close()
  const full = statSync(file).size
  expect((await installation.run(['migrate', '--compact'])).exitCode).toBe(0)
  expect(statSync(file).size).toBeLessThan(full - 15_000_000)
}, 300_000)

test('stead serve --stop-agents: stops the agents when it ends, and the next service starts them', async () => {
  await using installation = await openInstallation({
    environment: { AI_ECHO: 'true' },
    serve: ['serve', '--stop-agents'],
  })
  const program = await installation.start()
  const person = await signUp(program.urls.web)
  await person.post('/api/agents/provision', { name: 'Ada' })
  const [[id, pid] = ['', 0]] = [...(await installation.agentPids())]
  expect((await program.stop()).exitCode).toBe(0)
  expect(existsSync(`/proc/${pid}`)).toBe(false)

  const again = await installation.start()
  const returned = await signIn(again.urls.web)
  const reply = await until('an answer of the agent', async () => {
    const response = await returned.post('/api/chat', { message: 'Are you back?', agentId: id })
    return response.status === 503 ? null : response.json()
  })
  expect(reply).toMatchObject({ reply: '[offline echo] Are you back?' })
}, 300_000)

test.each([
  [['backup', 'create', '--out', '/proc/backups'], {}, 'backup: /proc/backups cannot be written'],
  [['backup', 'create'], { BACKUP_TO: '/proc/backups' }, 'BACKUP_TO: /proc/backups cannot be written'],
  [['backup', 'run'], { BACKUP_TO: '/proc/backups' }, 'BACKUP_TO: /proc/backups cannot be written'],
  [['migrate'], { DATA_DIR: '/proc/data' }, 'DATA_DIR: cannot open /proc/data/stead.db'],
  [['serve'], { DATA_DIR: '/proc/data' }, 'DATA_DIR: /proc/data cannot be written'],
  [['serve'], { LOG_FILE: '/proc/stead.log' }, 'LOG_FILE: /proc/stead.log cannot be written'],
])(
  'stead %j with %j: exits with 78 and one line',
  async (args, environment, reason) => {
    await using installation = await openInstallation()
    await addMigratedDatabase(installation.dataDir)
    const { exitCode, stdout, stderr } = await installation.run(args, { environment })
    expect({ exitCode, stdout }).toEqual({ exitCode: 78, stdout: '' })
    expect(stderr).toStartWith(`stead: ${reason}`)
    expect(stderr.trimEnd()).not.toContain('\n')
  },
  300_000,
)

test('stead exits with 1 and one line when an error is unexpected, and prints its stack with STEAD_DEBUG', async () => {
  await using installation = await openInstallation()
  await addMigratedDatabase(installation.dataDir)
  mkdirSync(join(installation.dataDir, 'instance.id'))
  const args = ['backup', 'create', '--out', join(installation.dataDir, 'out')]
  const plain = await installation.run(args)
  expect(plain).toMatchObject({ exitCode: 1, stdout: '' })
  expect(plain.stderr).toMatch(/^stead: EISDIR: [^\n]+\n$/)
  const debugged = await installation.run(args, { environment: { STEAD_DEBUG: '1' } })
  expect(debugged.stderr).toStartWith(plain.stderr)
  expect(debugged.stderr).toContain('    at ')
}, 300_000)

test('stead backup list: prints an empty list when there are no backups', async () => {
  await using installation = await openInstallation()
  expect(await installation.run(['backup', 'list', '--json'])).toEqual({
    exitCode: 0,
    stdout: '{"backups":[]}\n',
    stderr: '',
  })
  const { exitCode, stdout } = await installation.run(['backup', 'list'])
  expect([exitCode, stdout]).toEqual([0, `No backups in ${join(installation.dataDir, 'backups')}.\n`])
}, 300_000)

test('stead migrate status: prints pending migrations before the first start and none after it, and changes nothing', async () => {
  await using installation = await openInstallation()
  const none = await installation.run(['migrate', 'status', '--json'])
  expect(none).toEqual({ exitCode: 0, stdout: '{"applied":0,"pending":[]}\n', stderr: '' })
  expect(existsSync(installation.dataDir)).toBe(false)
  await installation.run(['migrate'])
  const after = JSON.parse((await installation.run(['migrate', 'status', '--json'])).stdout)
  expect(after).toEqual({ applied: expect.any(Number), pending: [] })
  const { sqlite, close } = openDatabase(join(installation.dataDir, 'stead.db'))
  sqlite.exec('DELETE FROM migrations WHERE name = (SELECT max(name) FROM migrations)')
  close()
  const { exitCode, stdout } = await installation.run(['migrate', 'status'])
  expect(exitCode).toBe(0)
  expect(stdout).toMatch(
    new RegExp(`^${after.applied - 1} migrations are applied, the next start applies: \\d{4}_\\w+\\n$`),
  )
}, 300_000)
