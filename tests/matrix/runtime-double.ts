import { createNoRuntime } from '../../src/adapters/no-runtime.ts'
import { portTaken, type Runtime } from '../../src/adapters/runtime.ts'

/** What an agent says of itself, and to everybody who talks to it. */
const REPLY = 'Good morning'

/** Agents that are a port and nothing more: each is live at once and answers every message with `REPLY`. */
export function startRuntimeDouble() {
  const servers = new Map<number, ReturnType<typeof listen>>()
  const listen = (port: number) => Bun.serve({ hostname: '127.0.0.1', port, fetch: answer })
  const open = (port: number) => {
    const server = listen(port)
    servers.set(server.port ?? 0, server)
    return server.port ?? 0
  }
  const runtime: Runtime = {
    ...createNoRuntime('process', 'No test asks for this'),
    async deploy({ port }) {
      try {
        if (!servers.has(port)) open(port)
      } catch {
        throw portTaken(port)
      }
    },
    stop: async () => {},
    remove: async () => {},
    inspect: async () => null,
    isAvailable: async () => true,
  }
  return {
    runtime,
    /** A port where an agent runs already. */
    runOne: () => open(0),
    [Symbol.dispose]: () => {
      for (const server of servers.values()) void server.stop(true)
    },
  }
}

function answer(request: Request): Response {
  const { pathname } = new URL(request.url)
  if (pathname === '/healthz') return Response.json({ ok: true, status: 'live' })
  if (pathname !== '/v1/chat/completions') return new Response('Not found', { status: 404 })
  const chunk = { choices: [{ index: 0, delta: { content: REPLY }, finish_reason: 'stop' }] }
  return new Response(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`, {
    headers: { 'content-type': 'text/event-stream' },
  })
}
