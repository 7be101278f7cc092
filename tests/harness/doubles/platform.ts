import { z } from 'zod'
import { TOOL_NAMES, type ToolSettings } from '../../../src/core/agents/agent-tools.ts'
import { ChannelReport } from '../../../src/features/conversations/chat/channels/schemas.ts'
import { createMemoryDouble } from './memory.ts'

const Asked = z.object({
  model: z.string(),
  stream: z.literal(true),
  stream_options: z.object({ include_usage: z.literal(true) }),
  messages: z.array(z.object({ role: z.string(), content: z.unknown(), tool_call_id: z.string().optional() }).loose()),
  tools: z.array(z.object({ function: z.object({ name: z.string() }) })).optional(),
  tool_choice: z.unknown().optional(),
})
type Asked = z.infer<typeof Asked>
type ReportedEntry = ChannelReport['entries'][number]
type Answerer = (asked: Asked, request: Request) => Response | Promise<Response>

/** All tools of the built-in agent, with limits that tests do not reach. */
const ALL_TOOLS: ToolSettings = {
  tools: [...TOOL_NAMES],
  hasMcp: false,
  acceptsNotIsolated: false,
  limits: { modelTurns: 8, toolCalls: 40, maxUsd: null },
  price: null,
  timeZone: 'Europe/Berlin',
}

/**
 * Starts a platform double on loopback that returns the queued model responses in order, then echoes. With `forward`,
 * only the model is a double and other requests go to `forward`. `port` reuses the port of a stopped double.
 */
export function startPlatformDouble(forward?: (request: Request) => Response | Promise<Response>, port = 0) {
  const asked: Asked[] = []
  const toolSettings = structuredClone(ALL_TOOLS)
  const tokens: (string | null)[] = []
  const script: Answerer[] = []
  const others = new Map<string, (request: Request) => Response | Promise<Response>>()
  const toolReports: unknown[] = []
  const earlyEnds: unknown[] = []
  const reported: ReportedEntry[] = []
  const memory = createMemoryDouble()
  const skills: { name: string; description: string; instructions: string }[] = []
  const waiting: ((asked: Asked) => void)[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port,
    async fetch(request, self) {
      self.timeout(request, 0)
      const url = new URL(request.url)
      const { pathname } = url
      if (forward && pathname !== '/v1/chat/completions') return forward(request)
      const other = others.get(pathname)
      if (other) return other(request)
      if (pathname === '/v1/tools') return Response.json(toolSettings)
      if (pathname === '/v1/memory' || pathname === '/v1/memory/import') return memory.answer(request, url)
      if (pathname === '/v1/skills') return Response.json({ skills })
      if (pathname === '/v1/tool-events') {
        toolReports.push(await request.json())
        return new Response(null, { status: 204 })
      }
      if (pathname === '/v1/channel-messages') {
        const { entries } = ChannelReport.parse(await request.json())
        reported.push(...entries)
        return Response.json({ stored: entries.length })
      }
      if (pathname === '/v1/turn-limits') {
        earlyEnds.push(await request.json())
        return new Response(null, { status: 204 })
      }
      if (pathname !== '/v1/chat/completions') return new Response('Not found', { status: 404 })
      const body = Asked.parse(await request.json())
      asked.push(body)
      tokens.push(request.headers.get('authorization'))
      waiting.shift()?.(body)
      return (script.shift() ?? echo)(body, request)
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    port: Number(server.port),
    asked,
    tokens,
    memory,
    /** Tools the owner enabled for the agent. */
    toolSettings,
    /** Skills the owner installed for the agent. */
    skills,
    /** Tool uses the agent reported. */
    toolReports,
    /** Messenger events the agent reported. */
    reported,
    /** Turns the agent reported as ended by a limit. */
    earlyEnds,
    /** Replaces the response at a path. */
    answerAt: (path: string, answer: (request: Request) => Response | Promise<Response>) =>
      void others.set(path, answer),
    next: (...answers: Answerer[]) => void script.push(...answers),
    /** Resolves with the next model request. */
    nextAsked: () => new Promise<Asked>((resolve) => void waiting.push(resolve)),
    stop: () => server.stop(true),
  }
}

/** Streams `parts` as deltas, then usage, as a provider does. */
export function says(...parts: string[]): Answerer {
  return () => stream([...parts.map((content) => chunk({ content })), chunk({}, 'stop'), usage(), DONE])
}

export function callsTool(name: string, input: unknown, say = ''): Answerer {
  const call = (fields: object) => ({ tool_calls: [{ index: 0, ...fields }] })
  const json = JSON.stringify(input)
  return () =>
    stream([
      ...(say ? [chunk({ content: say })] : []),
      chunk(call({ id: `call_${name}`, type: 'function', function: { name, arguments: '' } })),
      chunk(call({ function: { arguments: json.slice(0, 5) } })),
      chunk(call({ function: { arguments: json.slice(5) } })),
      chunk({}, 'tool_calls'),
      usage(),
      DONE,
    ])
}

export function fails(status: number, message: string, type = 'error'): Answerer {
  return () => Response.json({ error: { message, type } }, { status })
}

/** Responds with `body` unchanged, by default as an event stream. */
export function sends(body: string, contentType = 'text/event-stream'): Answerer {
  return () => new Response(body, { headers: { 'content-type': contentType } })
}

/** Streams `parts` and then never continues; `aborted` settles when the agent disconnects. */
export function hangs(...parts: string[]) {
  const aborted = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const answerer: Answerer = (_asked, request) => {
    request.signal.addEventListener('abort', () => aborted.resolve())
    const encoder = new TextEncoder()
    return new Response(
      new ReadableStream({
        async start(controller) {
          for (const content of parts) controller.enqueue(encoder.encode(chunk({ content })))
          await release.promise
          controller.enqueue(encoder.encode(chunk({ content: 'late' }) + chunk({}, 'stop') + usage() + DONE))
          controller.close()
        },
        cancel: () => aborted.resolve(),
      }),
      { headers: { 'content-type': 'text/event-stream' } },
    )
  }
  return { answerer, aborted: aborted.promise, release: () => release.resolve() }
}

export const DONE = 'data: [DONE]\n\n'

export function chunk(delta: object, finishReason: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }]
  return `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'served-1', choices })}\n\n`
}

function usage(): string {
  const tokens = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  return `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'served-1', choices: [], usage: tokens })}\n\n`
}

function stream(events: string[]): Response {
  const encoder = new TextEncoder()
  const body = new ReadableStream({
    start(controller) {
      for (const event of events) controller.enqueue(encoder.encode(event))
      controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

function echo(asked: Asked): Response {
  const last = asked.messages.findLast((message) => message.role === 'user')
  return stream([chunk({ content: `You said: ${String(last?.content)}` }), chunk({}, 'stop'), usage(), DONE])
}
