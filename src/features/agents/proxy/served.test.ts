import { expect, test } from 'bun:test'
import { agentOwner } from '../../../../tests/harness/agent-owner.ts'

test("GET /api/served: 200 when the name is an agent's, 404 for every other name, 400 without one", async () => {
  const { web, agent } = await agentOwner()
  const name = `${agent.id}.agents.localhost`
  const ask = async (query: string) => (await web.request(`/api/served${query}`)).status
  expect(await ask(`?domain=${name}`)).toBe(200)
  expect(await ask(`?domain=${name.toUpperCase()}`)).toBe(200)
  const others = ['bo.agents.localhost', '.agents.localhost', agent.id, `${name}.example`, 'localhost']
  expect(await Promise.all(others.map((other) => ask(`?domain=${other}`)))).toEqual(others.map(() => 404))
  expect(await ask('')).toBe(400)
})
