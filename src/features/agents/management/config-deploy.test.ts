import { expect, test } from 'bun:test'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Person, signUp } from '../../../../tests/harness/client.ts'
import { startProvider } from '../../../../tests/harness/doubles/provider.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { findAgentPids, startServer, type TestServer } from '../../../../tests/harness/server.ts'
import { until } from '../../../../tests/harness/until.ts'
import { WebProvisioned } from '../provisioning/schemas.ts'
import { WebAgentDetail } from '../registry/schemas.ts'

/** The environment of an agent's process. */
function environOf(pid: number): Record<string, string> {
  const lines = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
}

async function runningPid({ dataDir, urls }: TestServer, person: Person, id: string, not?: number): Promise<number> {
  return until('the agent to run', async () => {
    const detail = await fetch(`${urls.web}/api/agents/${id}`, { headers: person.cookie })
    const { agent } = await read(WebAgentDetail, detail)
    const pid = (await findAgentPids(dataDir)).get(id)
    return agent.status === 'running' && pid !== not ? pid : null
  })
}

test('PUT /api/agents/:id/config: 200 and the running agent gets changed settings, and tokens as files', async () => {
  await using provider = await startProvider()
  await using server = await startServer({ OPENROUTER_API_KEY: 'sk-or-any', OPENROUTER_BASE_URL: provider.baseUrl })
  const person = await signUp(server.urls.web)
  const order = { name: 'Ada', model: 'openai/gpt-4o-mini', telegramToken: '1:canary', telegramUserId: '42' }
  const provisioned = await person.post('/api/provision', order)
  expect(provisioned.status).toBe(200)
  const { agentId, status } = await read(WebProvisioned, provisioned)
  expect(status).toBe('running')
  const first = await runningPid(server, person, agentId)
  const { TELEGRAM_TOKEN_FILE: file = '', ...environ } = environOf(first)
  expect(readFileSync(file, 'utf8')).toBe('1:canary')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(environ).toMatchObject({ TELEGRAM_USER_ID: '42', AGENT_MODEL: 'openai/gpt-4o-mini' })
  expect(JSON.stringify(environ)).not.toContain('canary')

  const url = `${server.urls.web}/api/agents/${agentId}/config`
  const change = { model: 'openai/gpt-4o', telegramToken: null, slackBotToken: 'canary-2' }
  const changed = await fetch(url, json('PUT', change, person.cookie))
  expect([changed.status, (await changed.text()).includes('canary')]).toEqual([200, false])
  const second = await runningPid(server, person, agentId, first)
  const after = environOf(second)
  expect(readFileSync(after.SLACK_BOT_TOKEN_FILE ?? '', 'utf8')).toBe('canary-2')
  expect(after).not.toHaveProperty('TELEGRAM_TOKEN_FILE')
  const said = await person.post('/api/chat', { agentId, message: 'Good morning' })
  expect(said.status).toBe(200)
  expect(provider.chats.at(-1)?.body.model).toBe('openai/gpt-4o')
  expect(server.logLines.join('\n')).not.toContain('canary')
  const stored = readFileSync(join(server.dataDir, 'stead.db'), 'latin1')
  const journal = readFileSync(join(server.dataDir, 'stead.db-wal'), 'latin1')
  expect([stored.includes('canary'), journal.includes('canary')]).toEqual([false, false])
})
