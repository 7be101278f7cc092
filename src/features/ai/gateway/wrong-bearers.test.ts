import { expect, test } from 'bun:test'
import { agentOwner } from '../../../../tests/harness/agent-owner.ts'
import { INTERNAL_KEY } from '../../../../tests/harness/platform.ts'
import { bearer } from '../../../../tests/harness/requests.ts'

test.each([
  ['agt_wrong', '/v1/tools', 401],
  ['sk_wrong', '/v1/models', 401],
  ['wrong', '/v1/models', 403],
])('GET /v1/*: 429 after 60 requests with the bearer %s from one /64', async (token, path, status) => {
  const { api, agent } = await agentOwner()
  const from = (address: string, headers: Record<string, string>) =>
    api('backend', { address }).request(path, { headers })
  const statuses: number[] = []
  for (let index = 0; index <= 60; index++) {
    statuses.push((await from(`2001:db8:1:2::${index.toString(16)}`, bearer(`${token}${index}`))).status)
  }
  expect(statuses.slice(0, 60)).toEqual(Array(60).fill(status))
  expect(statuses[60]).toBe(429)

  const limited = await from('2001:db8:1:2::1', bearer(token))
  expect([limited.status, Number(limited.headers.get('retry-after')) > 0]).toEqual([429, true])
  // Agents of the same machine go on, and so do callers from elsewhere.
  const good = path === '/v1/tools' ? agent.headers : bearer(INTERNAL_KEY)
  expect((await from('2001:db8:1:2::1', good)).status).not.toBe(429)
  expect((await from('2001:db8:1:3::1', bearer(token))).status).toBe(status)
})
