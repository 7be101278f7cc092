import { expect, test } from 'bun:test'
import { findHold } from '../../../tests/harness/speed/loop-hold.ts'
import { measureSlowness } from '../../../tests/harness/speed/machine-speed.ts'
import type { SocketHandler } from '../../core/web-socket.ts'
import { createSocketHandlers, openTunnel, toSocketHandler, toUpgradeHeaders } from './tunnel.ts'

const HOLD_MS = 50
const PROGRAM = new URL('../../../tests/harness/programs/flooding-agent.ts', import.meta.url).pathname

/** Starts a server whose WebSockets are tunnels to the agent at `agentUrl`. */
function startDoor(agentUrl: string) {
  return Bun.serve<SocketHandler, never>({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request, upgrading) {
      const tunnel = await openTunnel(request, agentUrl, null)
      const isOpen = upgrading.upgrade(request, { data: toSocketHandler(tunnel), headers: toUpgradeHeaders(tunnel) })
      return isOpen ? undefined : new Response(null, { status: 400 })
    },
    websocket: createSocketHandlers(new Set()),
  })
}

test('openTunnel closes a WebSocket when a million messages arrive at once', async () => {
  const limitMs = HOLD_MS * measureSlowness()
  await using agent = Bun.spawn([process.execPath, PROGRAM], { stdout: 'pipe', stderr: 'inherit' })
  const { value } = await agent.stdout.getReader().read()
  using door = startDoor(`http://127.0.0.1:${new TextDecoder().decode(value).trim()}`)
  const work = async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${door.port}/`)
    await new Promise((resolve) => {
      socket.onclose = resolve
    })
  }
  expect(await findHold(limitMs, work)).toBeLessThan(limitMs)
}, 600_000)

test('openTunnel forwards all messages when a hundred arrive at once in both directions', async () => {
  using agent = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request, upgrading) => (upgrading.upgrade(request) ? undefined : new Response(null, { status: 404 })),
    websocket: { message: (socket, message) => void socket.send(message) },
  })
  using door = startDoor(`http://127.0.0.1:${agent.port}`)
  const socket = new WebSocket(`ws://127.0.0.1:${door.port}/`)
  const heard: unknown[] = []
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.onopen = () => {
    for (let count = 0; count < 100; count++) socket.send(String(count))
  }
  socket.onmessage = ({ data }) => {
    if (heard.push(data) === 100) resolve()
  }
  socket.onclose = () => reject(new Error('It was ended'))
  await promise
  socket.close()
  expect(heard).toEqual(Array.from({ length: 100 }, (_, index) => String(index)))
}, 600_000)
