import { expect, test } from 'bun:test'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { CreatedKey } from '../../src/features/keys/schemas.ts'
import { createAgent, PASSWORD, signUp } from '../harness/client.ts'
import { bearer, json, read } from '../harness/platform.ts'
import { startProvider } from '../harness/provider.ts'
import { openHouse, SERVICE_KEY } from '../harness/server.ts'
import { withProvider } from './main-job.ts'

test('what is stored is for its owner alone, and no secret is told in a log, an environment or a command line', async () => {
  await using provider = await startProvider({ fault: { status: 401 } })
  await using house = await openHouse({ environment: { ...withProvider(provider), LOG_LEVEL: 'trace' } })
  const program = await house.start()
  const { web, backend } = program.urls
  const person = await signUp(web)
  const { key } = await read(CreatedKey, person.post('/api/keys', { name: 'laptop' }))
  const agentId = await createAgent(person, { model: 'openai/gpt-4o-mini' })
  await person.post('/api/chat', { agentId, message: 'This will fail' })
  const request = json('POST', { messages: [{ role: 'user', content: 'Hi' }] }, bearer(key))
  await fetch(`${backend}/v1/chat/completions?key=${key}`, request)
  await fetch(`${backend}/api/agents`, { headers: bearer(SERVICE_KEY) })

  const agentDir = join(house.dataDir, 'agents', agentId)
  const secretFiles = readdirSync(join(agentDir, 'secrets')).map((name) => join(agentDir, 'secrets', name))
  for (const folder of [house.dataDir, agentDir, join(agentDir, 'secrets')]) expect(modeOf(folder)).toBe(0o700)
  for (const file of ['stead.db', 'encryption.key'].map((name) => join(house.dataDir, name)))
    expect(modeOf(file)).toBe(0o600)
  expect(secretFiles.length).toBe(2)
  for (const file of secretFiles) expect(modeOf(file)).toBe(0o600)

  const session = person.cookie.cookie?.replace('service-session=', '') ?? ''
  const agentTokens = await Promise.all(secretFiles.map((file) => Bun.file(file).text()))
  const pids = [...(await house.agentPids()).values()]
  const told = [
    ...program.lines,
    await Bun.file(join(agentDir, 'agent.log')).text(),
    ...(await Promise.all(pids.map((pid) => Bun.file(`/proc/${pid}/environ`).text()))),
    ...(await Promise.all(pids.map((pid) => Bun.file(`/proc/${pid}/cmdline`).text()))),
  ].join('\n')
  expect(told).toContain(agentId)
  for (const secret of [PASSWORD, key, session, SERVICE_KEY, 'sk-or-the-double', ...agentTokens])
    expect(told.includes(secret)).toBe(false)
}, 30_000)

function modeOf(path: string): number {
  return statSync(path).mode & 0o777
}
