import { expect, test } from 'bun:test'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { createAgent, type Person, signUp } from '../../../tests/harness/client.ts'
import { findFreePorts } from '../../../tests/harness/ports.ts'
import { type Installation, openInstallation } from '../../../tests/harness/server.ts'

const NEVER_MS = 600_000
const Agents = z.object({ agents: z.array(z.looseObject({ id: z.string(), name: z.string(), status: z.string() })) })
const Fleet = z.object({
  agents: z.array(z.object({ id: z.string(), name: z.string(), fate: z.string(), reason: z.null() })),
})
const Keys = z.object({ keys: z.array(z.looseObject({ id: z.string(), name: z.string() })) })
const Sessions = z.object({ sessions: z.array(z.unknown()) })

test(
  'stead agents and keys: every command succeeds with DATA_DIR, and with STEAD_URL and STEAD_KEY',
  async () => {
    await using installation = await openInstallation({ environment: { AI_ECHO: 'true' } })
    const { urls } = await installation.start()
    const person = await signUp(urls.web)
    expect(await installation.run(['agents', 'list'])).toEqual({ exitCode: 0, stdout: 'No agents yet.\n', stderr: '' })
    expect((await installation.run(['keys', 'list'])).stdout).toBe('No keys yet.\n')

    const id = await createAgent(person, { name: 'Ada', model: 'local/echo' })
    const list = await installation.run(['agents', 'list'])
    // No colours: this is no terminal.
    expect(list.stdout).toMatch(new RegExp(`^NAME +ID +STATUS +MODEL\nAda +${id} +running +local/echo\n$`))
    const statusOf = async (environment: Record<string, string> = {}) => {
      const { stdout } = await installation.run(['agents', 'list', '--json'], { environment })
      return Agents.parse(JSON.parse(stdout)).agents.find((agent) => agent.id === id)?.status
    }

    expect(await installation.run(['agents', 'chat', 'ada', 'How are you?'])).toMatchObject({ exitCode: 0, stderr: '' })
    const said = await installation.run(['agents', 'chat', id, '--json'], { stdin: 'hello from a pipe' })
    expect(JSON.parse(said.stdout)).toMatchObject({ agentId: id, reply: expect.stringContaining('hello from a pipe') })
    const logs = await installation.run(['agents', 'logs', 'Ada', '--lines', '1'])
    expect(logs.stdout.trim().split('\n')).toHaveLength(1)

    expect(await installation.run(['agents', 'stop', 'Ada'])).toEqual({
      exitCode: 0,
      stdout: 'Ada is stopped\n',
      stderr: '',
    })
    expect(await statusOf()).toBe('stopped')
    const key = (await installation.run(['keys', 'create', 'laptop'])).stdout.trim()
    const byKey = { STEAD_URL: urls.web, STEAD_KEY: key }
    expect((await installation.run(['agents', 'start', 'Ada'], { environment: byKey })).exitCode).toBe(0)
    expect(await statusOf(byKey)).toBe('running')
    expect((await installation.run(['agents', 'restart', 'Ada'])).stdout).toBe('Ada is started again\n')
    expect((await installation.run(['agents', 'repair', id])).stdout).toBe('Ada is repaired\n')

    expect(await installation.run(['agents', 'stop', 'Bob'])).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: 'stead: There is no agent Bob; there are Ada\n',
    })
    expect(await installation.run(['agents', 'delete', 'Ada'])).toMatchObject({ exitCode: 2, stdout: '' })
    expect(await statusOf()).toBe('running')
    const deleted = await installation.run(['agents', 'delete', 'Ada', '--yes', '--json'])
    expect(JSON.parse(deleted.stdout)).toEqual({ id, deleted: true })
    expect(await statusOf()).toBeUndefined()
    expect(await installation.run(['keys', 'revoke', 'laptop'])).toMatchObject({ exitCode: 0, stderr: '' })
    await expectKeys(installation, person)
  },
  NEVER_MS,
)

test(
  'stead agents update: updates one agent by name, or running agents in waves with --all',
  async () => {
    await using installation = await openInstallation({ environment: { AI_ECHO: 'true' } })
    const { urls } = await installation.start()
    const ada = await signUp(urls.web)
    const bo = await signUp(urls.web, 'bo@example.com')
    for (const { email } of [ada, bo]) await installation.run(['user', 'set-plan', email, 'network'])
    const create = (person: typeof ada, name: string) => createAgent(person, { name, model: 'local/echo' })
    await Promise.all([create(ada, 'One'), create(ada, 'Two'), create(bo, 'Three')])
    const stopped = await create(ada, 'Four')
    const asAda = ['--as', ada.email]
    await installation.run(['agents', 'stop', 'Four', ...asAda])

    expect(await installation.run(['agents', 'update', 'two', ...asAda])).toEqual({
      exitCode: 0,
      stdout: 'Two is up to date\n',
      stderr: '',
    })
    const own = await installation.run(['agents', 'update', '--all', '--first', 'Two', ...asAda])
    expect(own).toEqual({ exitCode: 0, stdout: 'Two is up to date\nOne is up to date\n2 updated\n', stderr: '' })
    const all = await installation.run(['agents', 'update', '--all', '--everybody', '--json'])
    const names = Fleet.parse(JSON.parse(all.stdout)).agents.map(({ name, fate }) => `${name} ${fate}`)
    expect(names.sort()).toEqual(['One updated', 'Three updated', 'Two updated'])
    const list = Agents.parse(
      JSON.parse((await installation.run(['agents', 'list', '--json', ...asAda])).stdout),
    ).agents
    expect(list.find(({ id }) => id === stopped)?.status).toBe('stopped')

    for (const [words, reason] of [
      [['update'], 'agents update: name an agent, or say --all'],
      [['update', 'One', '--all'], 'agents update: name an agent, or say --all'],
      [['update', 'One', '--everybody'], '--everybody: goes with --all'],
      [['update', '--all', '--at-once', '33'], '--at-once: must be a whole number from 1 to 32'],
      [['update', '--all', '--first', 'Four', ...asAda], '--first: no agent Four runs'],
    ] as const) {
      expect(await installation.run(['agents', ...words])).toMatchObject({ exitCode: 2, stderr: `stead: ${reason}\n` })
    }
  },
  NEVER_MS,
)

test(
  'stead agents stop --all and start --all: print a line for each agent and a summary; exit with 1 when one failed',
  async () => {
    await using installation = await openInstallation({ environment: { AI_ECHO: 'true' } })
    const { urls } = await installation.start()
    const person = await signUp(urls.web)
    await Promise.all(['One', 'Two'].map((name) => createAgent(person, { name, model: 'local/echo' })))

    const stopped = await installation.run(['agents', 'stop', '--all'])
    expect(stopped).toMatchObject({ exitCode: 0, stderr: '' })
    expect(stopped.stdout.trim().split('\n').sort()).toEqual(['2 stopped', 'One is stopped', 'Two is stopped'])
    expect((await installation.run(['agents', 'stop', '--all'])).stdout).toBe('0 stopped\n')

    const started = await installation.run(['agents', 'start', '--all', '--json'])
    expect(JSON.parse(started.stdout)).toMatchObject({ done: 2, failed: 0, agents: [{ error: null }, { error: null }] })
    expect((await installation.run(['agents', 'list'])).stdout.match(/ running /g)).toHaveLength(2)
    expect(await installation.run(['agents', 'stop'])).toMatchObject({
      exitCode: 2,
      stderr: 'stead: agents stop: name an agent, or say --all\n',
    })
  },
  NEVER_MS,
)

/** Each command ends its session, and says whose keys are meant where there are several accounts. */
async function expectKeys(installation: Installation, person: Person): Promise<void> {
  const created = await installation.run(['keys', 'create', 'laptop', '--days', '90', '--scope', 'read'])
  expect(created).toMatchObject({ exitCode: 0, stderr: '' })
  expect(created.stdout).toMatch(/^sk_[0-9A-Za-z]{43}\n$/)
  const key = created.stdout.trim()
  const isKnown = async () =>
    (await fetch(`${person.web}/api/agents/provision`, { headers: { authorization: `Bearer ${key}` } })).status
  expect(await isKnown()).toBe(200)

  const { keys } = Keys.parse(JSON.parse((await installation.run(['keys', 'list', '--json'])).stdout))
  expect(keys).toMatchObject([{ name: 'laptop', scopes: ['read'], keyPreview: `${key.slice(0, 10)}...` }])
  expect((await installation.run(['keys', 'list'])).stdout).not.toContain(key)
  expect(await installation.run(['keys', 'revoke', 'phone'])).toMatchObject({
    exitCode: 1,
    stderr: 'stead: There is no key phone\n',
  })
  expect((await installation.run(['keys', 'revoke', 'laptop'])).stdout).toBe('laptop is revoked\n')
  expect(await isKnown()).toBe(401)
  const sessions = Sessions.parse(await (await person.get('/api/auth/sessions')).json())
  expect(sessions.sessions).toHaveLength(1)

  await installation.run(['user', 'create', 'bo@example.com', '--password-stdin'], {
    stdin: 'correct horse battery staple',
  })
  expect(await installation.run(['keys', 'list'])).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: 'stead: --as: say whose, such as ada@example.com, bo@example.com\n',
  })
  expect((await installation.run(['keys', 'list', '--as', 'BO@example.com'])).stdout).toBe('No keys yet.\n')
  expect((await installation.run(['agents', 'list', '--as', 'eve@example.com'])).stderr).toBe(
    'stead: No account has the address eve@example.com\n',
  )
}

test(
  'stead agents list: exits with 75 without a server, 1 when the key is refused, 2 when the address is incomplete',
  async () => {
    await using installation = await openInstallation()
    const notRunning = {
      exitCode: 75,
      stdout: '',
      stderr: `stead: no Stead runs on DATA_DIR ${installation.dataDir}: start it with stead serve, or name another by STEAD_URL and STEAD_KEY\n`,
    }
    expect(await installation.run(['agents', 'list'])).toEqual(notRunning)
    const server = await installation.start()
    await signUp(server.urls.web)
    const note = join(installation.dataDir, 'server.json')
    expect(statSync(note).mode & 0o777).toBe(0o600)
    const asked = (environment: Record<string, string>) => installation.run(['agents', 'stop', 'Ada'], { environment })
    const [port] = await findFreePorts(1)
    const wrong = `sk_${'a'.repeat(43)}`
    expect(
      await installation.run(['agents', 'list'], {
        environment: { STEAD_URL: server.urls.web, STEAD_KEY: wrong },
      }),
    ).toMatchObject({ exitCode: 1 })
    expect(await asked({ STEAD_URL: `http://127.0.0.1:${port}`, STEAD_KEY: wrong })).toMatchObject({
      exitCode: 75,
      stderr: expect.stringContaining(`stead: no Stead answers at http://127.0.0.1:${port}`),
    })
    expect(await asked({ STEAD_URL: server.urls.web })).toMatchObject({ exitCode: 2 })
    expect(await asked({ STEAD_KEY: wrong })).toMatchObject({ exitCode: 2 })

    // The address file of a killed server is ignored.
    await server.kill()
    expect(existsSync(note)).toBe(true)
    expect(await installation.run(['agents', 'list'])).toEqual(notRunning)
    const again = await installation.start()
    expect((await installation.run(['agents', 'list'])).exitCode).toBe(0)
    await again.stop()
    expect(existsSync(note)).toBe(false)
  },
  NEVER_MS,
)
