import { expect, test } from 'bun:test'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { Installations } from '../../../src/features/agents/installations/schemas.ts'
import { type Person, signIn, signUp } from '../../harness/client.ts'
import { findFreePorts } from '../../harness/ports.ts'
import { openInstallation } from '../../harness/server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { startTestAgent } from '../../harness/test-agent.ts'
import { until } from '../../harness/until.ts'
import { chat, createKey, startMachine } from './machines.ts'

const Listening = z.object({ url: z.string() })
const Reply = z.object({ choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })]) })

async function listMachines(person: Person) {
  const found = Installations.parse(await (await person.get('/api/installations')).json())
  return found.installations
}

/** Starts a platform with its owner and a key. */
async function openPlatform() {
  const installation = await openInstallation({ environment: { AI_ECHO: 'true' } })
  const program = await installation.start()
  const person = await signUp(program.urls.web)
  const { id, key } = await createKey(person)
  return {
    installation,
    program,
    person,
    key,
    keyId: id,
    backend: program.urls.backend,
    [Symbol.asyncDispose]: () => installation[Symbol.asyncDispose](),
  }
}

test('home: a local agent is registered, outlives the platform, reconnects to it, and ends cleanly', async () => {
  await using platform = await openPlatform()
  using folder = tempFolder()
  const args = ['--platform', platform.backend, '--port', '0', '--dir', folder.file('home'), '--every', '0.5']
  await using home = startMachine(['home', '--name', 'attic', ...args], { STEAD_KEY: platform.key })
  const { url } = Listening.parse(await home.next('listening', 0))
  expect(await home.next('connected', 0)).toMatchObject({
    name: 'attic',
    dashboardUrl: expect.stringMatching(/dashboard$/),
  })
  await home.next('heartbeat', 0)
  const [machine] = await listMachines(platform.person)
  expect(machine).toMatchObject({ name: 'attic', mode: 'home', status: 'active', gatewayUrl: url })

  const tokenFile = `${folder.file('home')}/gateway.token`
  expect(statSync(tokenFile).mode & 0o777).toBe(0o600)
  const token = readFileSync(tokenFile, 'utf8')
  const reply = Reply.parse(await (await chat(url, token, 'Are you home?')).json())
  expect(reply.choices[0].message.content).toBe('[offline echo] Are you home?')
  expect((await chat(url, 'gw_wrong', 'Hi')).status).toBe(401)

  await platform.program.kill()
  expect(await home.next('waiting', 0)).toMatchObject({ error: `${platform.backend} is not reachable` })
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
  const before = home.events.length
  const again = await platform.installation.start()
  await home.next('connected', before)
  const person = await signIn(again.urls.web)
  const seen = async () => (await listMachines(person)).map(({ id, lastSeen }) => ({ id, lastSeen }))
  const [first] = await seen()
  expect(first?.id).toBe(machine?.id ?? '')
  await until('a later heartbeat', async () => (await seen())[0]?.lastSeen !== first?.lastSeen)

  const { exitCode, events, stderr } = await home.stop()
  expect(exitCode).toBe(0)
  expect(events.at(-1)).toBe('stopped')
  await expect(fetch(`${url}/healthz`)).rejects.toThrow()
  const said = `${JSON.stringify(home.events)}${stderr}`
  for (const secret of [platform.key, token]) expect(said).not.toContain(secret)
}, 300_000)

test('a rejected key ends the command with 1, also when it is deleted while the command runs', async () => {
  await using platform = await openPlatform()
  using folder = tempFolder()
  const args = ['home', '--platform', platform.backend, '--port', '0', '--dir', folder.file('home'), '--every', '0.5']
  const refused = await startMachine(args, { STEAD_KEY: `sk_${'a'.repeat(43)}` }).ended()
  expect(refused).toMatchObject({ exitCode: 1, events: ['listening', 'failed', 'stopped'] })
  expect(refused.stderr).toContain('stead: Invalid API key\n')

  await using home = startMachine(args, { STEAD_KEY: platform.key })
  await home.next('connected', 0)
  await home.next('tunnel', 0)
  await platform.person.delete(`/api/keys/${platform.keyId}`)
  const ended = await home.ended()
  expect(ended).toMatchObject({ exitCode: 1 })
  expect(ended.stderr).toContain('The credentials of this machine were revoked')
  const late = await startMachine(args, { STEAD_KEY: platform.key }).ended()
  expect(late).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('Invalid API key') })
}, 300_000)

test('an invalid option before the start prints one line and exits with 2', async () => {
  const key = { STEAD_KEY: 'sk_1' }
  const platform = ['--platform', 'http://127.0.0.1:1']
  const cases: [string[], Record<string, string>, string][] = [
    [['home'], key, '--platform: is required (or STEAD_PLATFORM)'],
    [['home'], { ...key, STEAD_PLATFORM: 'x' }, 'STEAD_PLATFORM: must be an http or https URL'],
    [['link', '--platform', 'ftp://x'], key, '--platform: must be an http or https URL'],
    [['home', ...platform], {}, '--key-file: is required (or STEAD_KEY, STEAD_KEY_FILE, --key)'],
    [['home', ...platform], { STEAD_KEY: 'pk_1' }, '--key-file: a key begins with sk_'],
    [['home', ...platform, '--every', '0'], key, '--every: must be a number of seconds up to 600'],
    [['link', ...platform], key, '--token-file: is required (or GATEWAY_TOKEN, GATEWAY_TOKEN_FILE, --token)'],
    [['link', ...platform, '--url', 'x'], key, '--url: must be an http or https URL'],
    [['home', ...platform, '--port', 'x'], { ...key, GATEWAY_TOKEN: 'gw_1' }, '--port: must be a port, not "x"'],
  ]
  const ended = await Promise.all(cases.map(([args, environment]) => startMachine(args, environment).ended()))
  expect(ended).toEqual(cases.map(([, , line]) => ({ exitCode: 2, stderr: `stead: ${line}\n`, events: [] })))
}, 300_000)

test('link: a local gateway is registered, and heartbeats stop while it is down', async () => {
  await using platform = await openPlatform()
  const [port = 0] = await findFreePorts(1)
  await using agent = await startTestAgent({ port })
  const args = ['link', '--url', agent.url, '--platform', platform.backend, '--name', 'office', '--every', '0.5']
  await using link = startMachine(args, { STEAD_KEY: platform.key, GATEWAY_TOKEN: agent.token })
  await link.next('connected', 0)
  await link.next('heartbeat', 0)
  expect(await listMachines(platform.person)).toMatchObject([
    { name: 'office', mode: 'link', status: 'active', gatewayUrl: agent.url },
  ])

  await agent.stop(0)
  expect(await link.next('waiting', 0)).toMatchObject({ error: `No gateway answers at ${agent.url}` })
  const silent = link.events.length
  await link.next('waiting', silent + 1)
  expect(link.events.slice(silent).some(({ event }) => event === 'heartbeat')).toBe(false)
  await agent.restart()
  await link.next('connected', silent)
  expect(await link.stop()).toMatchObject({ exitCode: 0 })
}, 300_000)

test('--once exits with 1 for the web port, no listener and a refused token, and with 0 after one heartbeat', async () => {
  await using platform = await openPlatform()
  await using agent = await startTestAgent()
  using folder = tempFolder()
  const args = ['link', '--url', agent.url, '--platform', platform.backend]
  const ended = await startMachine(args, { STEAD_KEY: platform.key, GATEWAY_TOKEN: 'gw_wrong' }).ended()
  expect(ended).toEqual({
    exitCode: 1,
    stderr: 'stead: The gateway refuses the token\n',
    events: ['listening', 'failed', 'stopped'],
  })

  const link = (url: string) =>
    startMachine(['link', '--url', agent.url, '--platform', url, '--once'], {
      STEAD_KEY: platform.key,
      GATEWAY_TOKEN: agent.token,
    }).ended()
  const wrong = await link(platform.program.urls.web)
  expect(wrong).toMatchObject({ exitCode: 1, events: ['listening', 'failed', 'stopped'] })
  expect(wrong.stderr).toContain('is no Stead backend: is it the web port?')
  expect(await link('http://127.0.0.1:1')).toMatchObject({
    exitCode: 1,
    stderr: 'stead: http://127.0.0.1:1 is not reachable\n',
  })
  expect(await listMachines(platform.person)).toEqual([])

  writeFileSync(folder.file('key'), `${platform.key}\n`)
  const home = ['--platform', `${platform.backend}/`, '--port', '0', '--dir', folder.file('home'), '--once']
  const machine = startMachine(['home', ...home, '--key-file', folder.file('key')], { STEAD_NAME: 'cellar' })
  expect(await machine.ended()).toMatchObject({
    exitCode: 0,
    events: ['listening', 'connected', 'heartbeat', 'stopped'],
  })
  expect(await listMachines(platform.person)).toMatchObject([{ name: 'cellar', mode: 'home', status: 'active' }])
}, 300_000)
