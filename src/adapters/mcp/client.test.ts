import { expect, test } from 'bun:test'
import { z } from 'zod'
import { findHold } from '../../../tests/harness/speed/loop-hold.ts'
import { measureSlowness } from '../../../tests/harness/speed/machine-speed.ts'
import { createEgress } from '../egress/egress.ts'
import { createMcpClients } from './client.ts'

const TIMEOUT_MS = 30_000
const HOLD_MS = 50
const BYTES = 1_900_000
const Message = z.object({
  id: z.number().optional(),
  method: z.string(),
  params: z.looseObject({ protocolVersion: z.string().optional() }).optional(),
})

/** Frames: plain JSON, one event, and one event after a comment with an unclosed quote. */
const FRAMES = ['', 'data: ', ': "\ndata: ']

/** Starts a server that answers every list and tool call with `said`. */
function startHostile(said: string, frame: string) {
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      if (request.method !== 'POST') return new Response(null, { status: 405 })
      const { id, method, params } = Message.parse(await request.json())
      if (id === undefined) return new Response(null, { status: 202 })
      const greeting = {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'h', version: '1' },
      }
      const result = method === 'initialize' ? JSON.stringify(greeting) : `{"tools":${said},"content":${said}}`
      const text = `{"jsonrpc":"2.0","id":${id},"result":${result}}`
      return new Response(frame ? `${frame}${text}\n\n` : text, {
        headers: { 'content-type': frame ? 'text/event-stream' : 'application/json' },
      })
    },
  })
}

const many = (one: string) => `[${`${one},`.repeat(BYTES / 2 / (one.length + 1))}${one}]`

test.each([
  ['nothing at all', many('{}')],
  ['numbers', many('1')],
  ['tools', many('{"name":"a","inputSchema":{"type":"object"}}')],
  ['parts', many('{"type":"text","text":"a"}')],
])(
  'listTools does not block when a server sends %s a hundred thousand times',
  async (_what, said) => {
    const limitMs = HOLD_MS * measureSlowness()
    for (const frame of FRAMES) {
      using server = startHostile(said, frame)
      const clients = createMcpClients(createEgress({ allowPrivate: true }))
      const endpoint = { url: `http://127.0.0.1:${server.port}/mcp`, headers: {} }
      // Loads the library before time is measured.
      await clients.listTools(endpoint, TIMEOUT_MS).catch(() => undefined)
      for (const ask of [
        () => clients.listTools(endpoint, TIMEOUT_MS),
        () => clients.callTool(endpoint, 'a', {}, TIMEOUT_MS),
      ]) {
        const work = async () => {
          const startedAt = performance.now()
          await expect(ask()).rejects.toMatchObject({ kind: 'upstream_failed' })
          expect(performance.now() - startedAt).toBeLessThan(TIMEOUT_MS / 2)
        }
        expect(await findHold(limitMs, work)).toBeLessThan(limitMs)
      }
    }
  },
  600_000,
)

test.each([['data: 1\n\n'], ['data: 1\r\r'], ['id: 1\n'], [':\n']])(
  'listTools does not block when a server sends %j a hundred thousand times before its answer',
  async (line) => {
    const limitMs = HOLD_MS * measureSlowness()
    using server = startHostile('[]', `${line.repeat(BYTES / line.length)}data: `)
    const clients = createMcpClients(createEgress({ allowPrivate: true }))
    const endpoint = { url: `http://127.0.0.1:${server.port}/mcp`, headers: {} }
    await clients.listTools(endpoint, TIMEOUT_MS).catch(() => undefined)
    const work = () =>
      expect(clients.listTools(endpoint, TIMEOUT_MS)).rejects.toMatchObject({ kind: 'upstream_failed' })
    expect(await findHold(limitMs, work)).toBeLessThan(limitMs)
  },
  600_000,
)

test('listTools and callTool keep the first items when a list is too long', async () => {
  const said = JSON.stringify(
    Array.from({ length: 1500 }, (_, index) => ({
      name: `t${index}`,
      inputSchema: { type: 'object' },
      type: 'text',
      text: 'a',
    })),
  )
  using server = startHostile(said, 'data: ')
  const clients = createMcpClients(createEgress({ allowPrivate: true }))
  const endpoint = { url: `http://127.0.0.1:${server.port}/mcp`, headers: {} }
  const tools = await clients.listTools(endpoint, TIMEOUT_MS)
  expect([tools.length, tools[99]?.name]).toEqual([100, 't99'])
  const { text, isError } = await clients.callTool(endpoint, 'a', {}, TIMEOUT_MS)
  expect([text.split('\n').length, isError]).toEqual([1000, false])
}, 600_000)
