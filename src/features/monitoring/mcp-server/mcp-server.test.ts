import { expect, test } from 'bun:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { agentOwner } from '../../../../tests/harness/agent-owner.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { apiKeys } from '../../accounts/keys/tables.ts'
import { appendLines } from '../../agents/logs/store.ts'

const Made = z.object({ key: z.string() })

/** The platform on a real port, as MCP clients connect to it. */
async function open(environment: Record<string, string> = {}) {
  const owner = await agentOwner({ environment })
  const { app, asOwner, stranger } = owner
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => app.fetch(request, { api: 'web', address: '203.0.113.7' }),
  })
  const url = `http://127.0.0.1:${server.port}/mcp`
  const makeKey = async (scopes: string[] = [], cookie = owner.cookie) =>
    (await read(Made, asOwner('/api/keys', 'POST', { name: 'mcp', scopes }, cookie))).key
  return {
    ...owner,
    url,
    makeKey,
    strangersKey: () => makeKey([], stranger.cookie),
    connect: async (key: string) => {
      const client = new Client({ name: 'test', version: '1' })
      const headers = { authorization: `Bearer ${key}` }
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
      const use = async (name: string, input: Record<string, unknown> = {}) => {
        const { content, isError = false } = await client.callTool({ name, arguments: input })
        return { text: content.map((part) => ('text' in part ? part.text : '')).join(''), isError }
      }
      return { client, use, [Symbol.asyncDispose]: () => client.close() }
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

test('/mcp: the official client lists the tools and reads only agents, logs and usage of its owner', async () => {
  await using platform = await open()
  const { agent, clock } = platform
  const line = { stream: 'stdout', text: 'hello from Bo', at: clock.now() } as const
  await write(platform.platform.db, (tx) => appendLines(tx, agent.id, [line], { before: null, after: 'a' }))
  await using mcp = await platform.connect(await platform.makeKey(['read']))
  const { tools } = await mcp.client.listTools()
  expect(tools.map(({ name }) => name)).toEqual([
    'list_agents',
    'talk_to_agent',
    'read_logs',
    'read_usage',
    'list_files',
    'read_file',
  ])
  expect(JSON.parse((await mcp.use('list_agents')).text)).toEqual([
    { id: agent.id, name: 'Bo', status: 'running', model: 'm', plan: 'label' },
  ])
  expect(JSON.parse((await mcp.use('read_logs', { agentId: agent.id })).text)).toMatchObject([
    { text: 'hello from Bo' },
  ])
  expect((await mcp.use('read_logs', { agentId: agent.id, text: 'nothing' })).text).toBe('[]')
  expect(await mcp.use('read_usage')).toEqual({ text: '[]', isError: false })
})

test('/mcp: a tool error when the key lacks the scope, a call of the agent when it has the scope', async () => {
  await using platform = await open()
  const talk = { agentId: platform.agent.id, message: 'Hi' }
  await using reading = await platform.connect(await platform.makeKey(['read']))
  const refused = await reading.use('talk_to_agent', talk)
  expect(refused).toEqual({ text: 'This key is not allowed to do that: it takes the scope agents', isError: true })
  await using acting = await platform.connect(await platform.makeKey(['agents']))
  expect(await acting.use('talk_to_agent', talk)).toEqual({ text: 'Agent is not running', isError: true })
  expect((await acting.use('list_agents')).isError).toBe(true)
  await using unlimited = await platform.connect(await platform.makeKey())
  expect((await unlimited.use('list_agents')).isError).toBe(false)
})

test('POST /mcp: 429 for talk_to_agent when the chat’s rate is exceeded; other tools continue', async () => {
  await using platform = await open({ RATE_LIMIT_CHAT: '2' })
  await using mcp = await platform.connect(await platform.makeKey())
  const talk = { agentId: platform.agent.id, message: 'Hi' }
  for (let count = 0; count < 2; count++) {
    expect(await mcp.use('talk_to_agent', talk)).toEqual({ text: 'Agent is not running', isError: true })
  }
  expect(mcp.use('talk_to_agent', talk)).rejects.toThrow('Too many requests, please slow down.')
  expect((await mcp.use('list_agents')).isError).toBe(false)
})

test('/mcp: every tool reports another user’s agent as not found', async () => {
  await using platform = await open()
  await using mcp = await platform.connect(await platform.strangersKey())
  const agentId = platform.agent.id
  for (const [name, input] of Object.entries({
    talk_to_agent: { agentId, message: 'Hi' },
    read_logs: { agentId },
    list_files: { agentId },
    read_file: { agentId, path: 'a.md' },
  })) {
    expect([name, await mcp.use(name, input)]).toEqual([name, { text: 'Agent not found', isError: true }])
  }
})

test('/mcp: 401 when the key is revoked during the message, also for limited keys', async () => {
  await using platform = await open()
  const key = await platform.makeKey(['read'])
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'talk_to_agent', arguments: {} } }
  const text = JSON.stringify({
    ...message,
    params: { ...message.params, arguments: { agentId: platform.agent.id, message: 'Hi' } },
  })
  const { db } = platform.platform
  const body = new ReadableStream(
    {
      async pull(controller) {
        // The guard has accepted the key by now.
        await write(db, (tx) => tx.delete(apiKeys).run())
        controller.enqueue(new TextEncoder().encode(text))
        controller.close()
      },
    },
    { highWaterMark: 0 },
  )
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'transfer-encoding': 'chunked',
  }
  const response = await platform.app.fetch(new Request(platform.url, { method: 'POST', headers, body }), {
    api: 'web',
    address: '203.0.113.7',
  })
  expect(response.status).toBe(401)
})

test('/mcp: 401 without a key and with a wrong one, 405 for GET and DELETE, and an error when the message is invalid', async () => {
  await using platform = await open()
  const ask = async (method: string, key: string | null, body?: string) => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(key && { authorization: `Bearer ${key}` }),
    }
    return (await fetch(platform.url, { method, headers, ...(body !== undefined && { body }) })).status
  }
  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  expect(await ask('POST', null, list)).toBe(401)
  expect(await ask('POST', 'sk_wrong', list)).toBe(401)
  const key = await platform.makeKey(['read'])
  expect([await ask('GET', key), await ask('DELETE', key)]).toEqual([405, 405])
  expect([await ask('POST', key, '{'), await ask('POST', key, '{}')]).toEqual([400, 400])
  expect(await ask('POST', key, list)).toBe(200)
  expect(await ask('POST', key, ` [${list},${list}]`)).toBe(400)
})
