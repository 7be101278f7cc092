import { expect, test } from 'bun:test'
import { signIn, signUp } from '../../../../tests/harness/client.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { openInstallation } from '../../../../tests/harness/server.ts'
import { until } from '../../../../tests/harness/until.ts'
import { ProvisionResponse, WebAgentList } from '../registry/schemas.ts'

test('POST /api/agents/provision: 201 with the same agent when the Idempotency-Key is repeated after a crash', async () => {
  await using installation = await openInstallation({ environment: { AI_ECHO: 'true' } })
  const before = await installation.start()
  const person = await signUp(before.urls.web)
  const provision = (web: string, cookie: Record<string, string>) =>
    fetch(`${web}/api/agents/provision`, json('POST', { name: 'Ada' }, { ...cookie, 'idempotency-key': 'order-1' }))
  const cutShort = provision(before.urls.web, person.cookie).then(
    () => 'answered',
    () => 'cut short',
  )
  const { id } = await until('the row of the agent', async () => {
    const { agents } = await read(WebAgentList, person.get('/api/agents'))
    return agents[0]
  })
  await before.kill()
  expect(await cutShort).toBe('cut short')

  const after = await installation.start()
  const returned = await signIn(after.urls.web)
  const response = await provision(after.urls.web, returned.cookie)
  expect(response.status).toBe(201)
  expect((await read(ProvisionResponse, response)).agent.id).toBe(id)
  await until('the agent to run', async () => {
    const { agents } = await read(WebAgentList, returned.get('/api/agents'))
    expect(agents).toHaveLength(1)
    return agents[0]?.status === 'running'
  })
  const again = await provision(after.urls.web, returned.cookie)
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true'])
  expect((await installation.agentPids()).size).toBe(1)
})
