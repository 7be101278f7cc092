import { expect, test } from 'bun:test'
import { z } from 'zod'
import { createAgent, signUp } from '../../../tests/harness/client.ts'
import { startProvider } from '../../../tests/harness/doubles/provider.ts'
import { findFreePorts } from '../../../tests/harness/ports.ts'
import { json } from '../../../tests/harness/requests.ts'
import { openInstallation } from '../../../tests/harness/server.ts'
import { until } from '../../../tests/harness/until.ts'

const NEVER_MS = 120_000

const Value = z.object({ stringValue: z.string() }).or(z.looseObject({}))
const Attributes = z.array(z.object({ key: z.string(), value: Value }))
const Span = z.looseObject({
  name: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  kind: z.number(),
  attributes: Attributes,
  status: z.looseObject({ code: z.number().optional() }),
})
/** `ExportTraceServiceRequest` in the JSON of OTLP. */
const Export = z.object({
  resourceSpans: z.array(
    z.looseObject({
      resource: z.looseObject({ attributes: Attributes }),
      scopeSpans: z.array(z.looseObject({ spans: z.array(Span) })),
    }),
  ),
})

function toRecord(attributes: z.infer<typeof Attributes>): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}

/** A collector over HTTP that keeps what it receives. */
function startCollector() {
  const received: { authorization: string | null; export: z.infer<typeof Export> }[] = []
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      if (new URL(request.url).pathname !== '/v1/traces') return new Response(null, { status: 404 })
      const body: unknown = await request.json()
      received.push({ authorization: request.headers.get('authorization'), export: Export.parse(body) })
      return Response.json({})
    },
  })
  const spans = () =>
    received.flatMap((one) =>
      one.export.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)),
    )
  return { url: `http://127.0.0.1:${server.port}`, received, spans, stop: () => server.stop(true) }
}

test(
  'OTEL_EXPORTER_OTLP_ENDPOINT exports each model call as a span with standard attributes and no content',
  async () => {
    const collector = startCollector()
    const provider = await startProvider()
    await using installation = await openInstallation({
      environment: {
        OPENROUTER_API_KEY: 'sk-or-test',
        OPENROUTER_BASE_URL: provider.baseUrl,
        OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20of-the-collector',
        OTEL_SERVICE_NAME: 'stead-of-the-test',
      },
    })
    try {
      const program = await installation.start()
      const person = await signUp(program.urls.web)
      const key = (await installation.run(['keys', 'create', 'test'])).stdout.trim()
      const ask = (more: object) =>
        fetch(`${program.urls.backend}/v1/chat/completions`, {
          ...json('POST', {
            model: 'openai/gpt-4o-mini',
            max_tokens: 50,
            messages: [{ role: 'user', content: 'a word that nobody else may know' }],
            ...more,
          }),
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        })
      expect((await ask({})).status).toBe(200)
      expect(await (await ask({ stream: true })).text()).toContain('[DONE]')
      expect(person.email).toBe('ada@example.com')
      // Pending spans are sent on shutdown.
      expect((await program.stop()).exitCode).toBe(0)

      const spans = collector.spans()
      expect(spans.map(({ name, kind }) => [name, kind])).toEqual([
        ['chat openai/gpt-4o-mini', 3],
        ['chat openai/gpt-4o-mini', 3],
      ])
      for (const { attributes } of spans) {
        expect(toRecord(attributes)).toMatchObject({
          'gen_ai.operation.name': 'chat',
          'gen_ai.provider.name': 'openrouter',
          'gen_ai.request.model': 'openai/gpt-4o-mini',
          'gen_ai.request.max_tokens': 50,
          'gen_ai.usage.input_tokens': expect.any(Number),
          'gen_ai.usage.output_tokens': expect.any(Number),
        })
      }
      const [first] = collector.received
      expect(first?.authorization).toBe('Bearer of-the-collector')
      expect(toRecord(first?.export.resourceSpans[0]?.resource.attributes ?? [])).toMatchObject({
        'service.name': 'stead-of-the-test',
      })
      expect(JSON.stringify(collector.received)).not.toContain('nobody else may know')
    } finally {
      collector.stop()
      await provider.stop()
    }
  },
  NEVER_MS,
)

test(
  'OTEL_EXPORTER_OTLP_ENDPOINT exports each turn as a span with tool and model calls below it and no content',
  async () => {
    const collector = startCollector()
    await using provider = await startProvider(({ body }) =>
      body.messages.at(-1)?.role === 'tool'
        ? { text: 'The note is kept.' }
        : { toolCalls: [{ name: 'write_file', arguments: { path: 'note.txt', content: 'Tea' } }] },
    )
    await using installation = await openInstallation({
      environment: {
        OPENROUTER_API_KEY: 'sk-or-test',
        OPENROUTER_BASE_URL: provider.baseUrl,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      },
    })
    try {
      const program = await installation.start()
      const person = await signUp(program.urls.web)
      const agentId = await createAgent(person, { model: 'openai/gpt-4o-mini' })
      const asked = await person.post('/api/chat', { agentId, message: 'Please keep a note' })
      expect([asked.status, await asked.text()]).toEqual([200, expect.stringContaining('note')])
      expect((await program.stop()).exitCode).toBe(0)

      const spans = collector.spans()
      const turn = spans.find(({ name }) => name === `invoke_agent ${agentId}`)
      expect(toRecord(turn?.attributes ?? [])).toMatchObject({
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.id': agentId,
        'gen_ai.conversation.id': expect.any(String),
        'gen_ai.usage.input_tokens': expect.any(Number),
      })
      const tools = spans.filter(({ name }) => name.startsWith('execute_tool '))
      expect(tools.map(({ name }) => name)).toEqual(['execute_tool write_file'])
      for (const { parentSpanId, attributes } of tools) {
        expect(parentSpanId).toBe(turn?.spanId ?? '')
        expect(toRecord(attributes)).toMatchObject({
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': expect.any(String),
        })
      }
      const calls = spans.filter(({ name }) => name === 'chat openai/gpt-4o-mini')
      expect(calls.map(({ parentSpanId }) => parentSpanId)).toEqual([turn?.spanId, turn?.spanId])
      expect(JSON.stringify(collector.received)).not.toContain('Please keep')
    } finally {
      collector.stop()
    }
  },
  NEVER_MS,
)

test(
  'OTEL_EXPORTER_OTLP_ENDPOINT delays no answer and logs one line when the collector is unreachable',
  async () => {
    const provider = await startProvider()
    const [port] = await findFreePorts(1)
    await using installation = await openInstallation({
      environment: {
        OPENROUTER_API_KEY: 'sk-or-test',
        OPENROUTER_BASE_URL: provider.baseUrl,
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
        OTEL_BSP_SCHEDULE_DELAY: '50',
      },
    })
    try {
      const program = await installation.start()
      await signUp(program.urls.web)
      const key = (await installation.run(['keys', 'create', 'test'])).stdout.trim()
      const lost = () => program.lines.filter((line) => line.includes('traces cannot be sent'))
      const ask = async () => {
        const body = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] }
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
        return (await fetch(`${program.urls.backend}/v1/chat/completions`, { ...json('POST', body), headers })).status
      }
      expect(await ask()).toBe(200)
      await until('the line of the log', async () => lost().length > 0)
      expect([await ask(), await ask()]).toEqual([200, 200])
      expect((await program.stop()).exitCode).toBe(0)
      expect(lost()).toHaveLength(1)
    } finally {
      await provider.stop()
    }
  },
  NEVER_MS,
)
