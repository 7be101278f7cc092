import { z } from 'zod'

const ChatBody = z.object({ messages: z.array(z.object({ content: z.string() })) })

/** A request to an agent: the last message and its session. */
export type AgentQuestion = { message: string; sessionKey: string | null; signal: AbortSignal }
type Answer = (question: AgentQuestion) => Promise<string | Response> | string | Response

/** Starts an agent on `port`, or a free one, that answers each message with `answer`. */
export function startAgentDouble(answer: Answer, port = 0) {
  const questions: AgentQuestion[] = []
  const server = Bun.serve({
    port,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url)
      if (pathname === '/channels') return Response.json({ channels: [] })
      if (pathname !== '/v1/chat/completions') return new Response('Not found', { status: 404 })
      const { messages } = ChatBody.parse(await request.json())
      const sessionKey = request.headers.get('x-session-key')
      const question = { message: messages.at(-1)?.content ?? '', sessionKey, signal: request.signal }
      questions.push(question)
      const reply = await answer(question)
      return typeof reply === 'string' ? toStream(reply) : reply
    },
  })
  return {
    port: server.port ?? 0,
    /** Requests received so far. */
    questions,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

function toStream(content: string): Response {
  const chunk = { choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }] }
  return new Response(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`, {
    headers: { 'content-type': 'text/event-stream' },
  })
}
