import { expect, test } from 'bun:test'
import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { Installations, PairingCode } from '../../../src/features/agents/installations/schemas.ts'
import { type Person, signIn, signUp } from '../../harness/client.ts'
import { openInstallation } from '../../harness/server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { startTestAgent } from '../../harness/test-agent.ts'
import { until } from '../../harness/until.ts'
import { startMachine } from './machines.ts'

const Answered = z.object({ reply: z.string() })

async function findMachine(person: Person) {
  const { installations } = Installations.parse(await (await person.get('/api/installations')).json())
  return installations[0]
}

async function newCode(person: Person): Promise<string> {
  return PairingCode.parse(await (await person.post('/api/installations/pairing-codes', {})).json()).code
}

const untilOnline = (person: Person) =>
  until('the tunnel', async () => {
    const machine = await findMachine(person)
    return machine?.tunnel.state === 'online' && machine.agentId ? { ...machine, agentId: machine.agentId } : undefined
  })

test('home: pairs with a code; chat, files, log and agent pages use the tunnel; a restart needs no code', async () => {
  await using installation = await openInstallation({ environment: { AI_ECHO: 'true' } })
  const program = await installation.start()
  const person = await signUp(program.urls.web)
  using folder = tempFolder()
  const dir = folder.file('home')
  const code = await newCode(person)
  const args = ['home', '--port', '0', '--dir', dir, '--name', 'attic', '--every', '0.5']
  const paired = [...args, '--platform', program.urls.backend, '--code', code.toLowerCase()]
  const home = startMachine(paired)
  await home.next('tunnel', 0)
  expect(statSync(`${dir}/machine.json`).mode & 0o777).toBe(0o600)
  const { agentId, version, platformVersion } = await untilOnline(person)
  expect(version).toBe(platformVersion)

  const ask = async (who: Person, message: string) =>
    Answered.parse(await (await who.post('/api/chat', { agentId, message })).json()).reply
  expect(await ask(person, 'Are you home?')).toBe('[offline echo] Are you home?')

  mkdirSync(`${dir}/workspace`, { recursive: true })
  writeFileSync(`${dir}/workspace/note.txt`, 'on my machine')
  const note = await person.get(`/api/browse/read?path=note.txt&agentId=${agentId}`)
  expect(await note.text()).toContain('on my machine')
  await until('a line of the log', async () => {
    const log = await person.get(`/api/logs/${agentId}/history`)
    return z.object({ lines: z.array(z.string()) }).parse(await log.json()).lines.length > 0 || undefined
  })

  // Runs the same command again, as a service manager would; the used code does not matter.
  expect(await home.stop()).toMatchObject({ exitCode: 0 })
  const offline = await person.post('/api/chat', { agentId, message: 'Hello' })
  expect(offline.status).toBe(503)
  await using again = startMachine(paired)
  await again.next('tunnel', 0)
  await untilOnline(person)
  expect(await ask(person, 'And now?')).toBe('[offline echo] And now?')

  await program.kill()
  const second = await installation.start()
  const later = await signIn(second.urls.web)
  await untilOnline(later)
  expect(await ask(later, 'Still there?')).toBe('[offline echo] Still there?')

  const machine = await findMachine(later)
  expect((await later.delete(`/api/installations/${machine?.id}`)).status).toBe(200)
  const ended = await again.ended()
  expect(ended.exitCode).toBe(1)
  expect(ended.stderr).toContain('This machine was removed from the platform')
  const refused = await startMachine(args).ended()
  expect(refused.exitCode).toBe(1)
  expect(refused.stderr).toContain('This machine is not paired: create a new pairing code')
}, 300_000)

test('link: pairs with a code, and exits with 1 and the reason when the code is wrong, used or expired', async () => {
  await using installation = await openInstallation({ environment: { PAIRING_CODE_MINUTES: '0.25' } })
  const program = await installation.start()
  const person = await signUp(program.urls.web)
  await using agent = await startTestAgent()
  using folder = tempFolder()
  const link = (code: string, dir: string) =>
    startMachine(
      [
        'link',
        ...['--url', agent.url, '--kind', 'stead', '--name', 'office', '--every', '0.5'],
        ...['--platform', program.urls.backend, '--code', code, '--dir', folder.file(dir)],
      ],
      { GATEWAY_TOKEN: agent.token },
    )
  const code = await newCode(person)
  const first = link(code, 'first')
  await first.next('tunnel', 0)
  expect(await untilOnline(person)).toMatchObject({ name: 'office', mode: 'link' })
  const used = await link(code, 'second').ended()
  expect(used).toMatchObject({ exitCode: 1, stderr: 'stead: This pairing code was already used: create a new one\n' })
  const late = await newCode(person)
  await Bun.sleep(15_100)
  const expired = await link(late, 'second').ended()
  expect(expired).toMatchObject({ exitCode: 1, stderr: 'stead: This pairing code has expired: create a new one\n' })
  const unknown = await link('AAAA-AAAA', 'second').ended()
  expect(unknown).toMatchObject({
    exitCode: 1,
    stderr: 'stead: This pairing code does not exist: check it, or create a new one\n',
  })
  // Another machine with the same name takes over, and the first loses access immediately.
  const third = link(await newCode(person), 'third')
  await third.next('tunnel', 0)
  const replaced = await first.ended()
  expect(replaced.exitCode).toBe(1)
  expect(replaced.stderr).toContain('The credentials of this machine were revoked')
  expect(await third.stop()).toMatchObject({ exitCode: 0 })
}, 300_000)
