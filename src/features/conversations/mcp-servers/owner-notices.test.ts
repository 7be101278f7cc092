import { expect, test } from 'bun:test'
import { says } from '../../../../tests/harness/doubles/platform.ts'
import { startTelegramDouble } from '../../../../tests/harness/doubles/telegram.ts'
import { startOwnedAgent } from '../../../../tests/harness/owned-agent.ts'
import { until } from '../../../../tests/harness/until.ts'
import { write } from '../../../db/write.ts'
import { mcpAuthorizations } from './tables.ts'

test('the agent writes to its owner once when an MCP server requires a new sign-in', async () => {
  const telegram = startTelegramDouble()
  try {
    const bot = telegram.addBot('42:secret')
    const service = { token: '42:secret', apiUrl: telegram.url, people: ['7'] }
    const channels = { telegram: service, retryMs: 20, editEveryMs: 20 }
    await using it = await startOwnedAgent({}, { channels })
    const path = `/api/agents/${it.agent.id}/mcp-servers`
    const added = await it.asOwner(path, 'POST', { name: 'weather', url: 'https://mcp.example/' })
    const serverId = String(Object(await added.json()).server.id)
    const row = { serverId, agentId: it.agent.id, status: 'expired', updatedAt: it.clock.now() } as const
    await write(it.platform.db, (tx) => tx.insert(mcpAuthorizations).values(row).run())
    const ask = async () => {
      it.model.next(says('Hi'))
      const body = JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }] })
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${it.running.token}` }
      return (await fetch(`${it.running.url}/v1/chat/completions`, { method: 'POST', headers, body })).status
    }
    expect(await ask()).toBe(200)
    const texts = () => bot.shown.filter(({ chatId }) => chatId === 7).map(({ text }) => text)
    const [text] = await until('the message to the owner', () => (texts().length > 0 ? texts() : null))
    expect(text).toContain('The MCP server weather needs a new sign-in')
    expect(text).toContain(`/agents/${it.agent.id}/settings`)
    expect(await ask()).toBe(200)
    expect(texts()).toHaveLength(1)
  } finally {
    telegram.stop()
  }
}, 300_000)
