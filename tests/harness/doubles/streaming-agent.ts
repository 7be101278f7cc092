import { onTestFinished } from 'bun:test'
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { write } from '../../../src/db/write.ts'
import { insertAgent } from '../../../src/features/agents/registry/agents.ts'
import { agents } from '../../../src/features/agents/registry/tables.ts'
import { testPlatform } from '../platform.ts'

/**
 * Starts a platform with an agent of Ada's whose stream the test writes: `say` and the like apply to the latest turn.
 */
export async function startStreamingAgent() {
  const test = testPlatform()
  const { platform, clock } = test
  const agent = startWords()
  onTestFinished(() => agent.server.stop(true))
  const ada = await test.signIn('ada@example.com')
  const kind = { name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
  const row = { ...kind, ownerId: ada.user.id, port: agent.server.port ?? 0 }
  const { id } = await write(platform.db, (tx) => insertAgent({ clock, sealer: platform.sealer }, tx, row))
  return {
    ...test,
    ada,
    agent,
    agentId: id,
    removeAgent: () => write(platform.db, (tx) => tx.delete(agents).where(eq(agents.id, id)).run()),
  }
}

const ChatBody = z.object({ messages: z.array(z.object({ content: z.string() })) })

type Said = {
  controller: ReadableStreamDefaultController<string>
  left: Promise<void>
  sessionKey: string
  messages: string[]
}

function startWords() {
  const calls: Said[] = []
  const waiting = new Set<() => void>()
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      if (new URL(request.url).pathname !== '/v1/chat/completions') return new Response('Not found', { status: 404 })
      const messages = ChatBody.parse(await request.json()).messages.map(({ content }) => content)
      const sessionKey = request.headers.get('x-session-key') ?? ''
      const left = new Promise<void>((resolve) => request.signal.addEventListener('abort', () => resolve()))
      const body = new ReadableStream<string>({
        start(controller) {
          controller.enqueue(': here\n\n')
          calls.push({ controller, left, sessionKey, messages })
        },
      })
      for (const wake of waiting) wake()
      return new Response(body.pipeThrough(new TextEncoderStream()), {
        headers: { 'content-type': 'text/event-stream' },
      })
    },
  })
  const last = () => {
    const call = calls.at(-1)
    if (!call) throw new Error('The agent has received no request')
    return call
  }
  return {
    server,
    calls,
    /** Resolves when a turn is requested. */
    asked: () =>
      new Promise<void>((resolve) => {
        if (calls.length > 0) resolve()
        waiting.add(resolve)
      }),
    say(content: string) {
      const chunk = { choices: [{ index: 0, delta: { content } }] }
      last().controller.enqueue(`data: ${JSON.stringify(chunk)}\n\n`)
    },
    /** Sends a non-text event in the format of the built-in agent. */
    sendEvent(stead: object) {
      last().controller.enqueue(`data: ${JSON.stringify({ choices: [], stead })}\n\n`)
    },
    finish() {
      last().controller.enqueue('data: [DONE]\n\n')
      last().controller.close()
    },
    breakOff: () => last().controller.close(),
    /** Resolves when the platform closes the call. */
    aborted: () => last().left,
  }
}
