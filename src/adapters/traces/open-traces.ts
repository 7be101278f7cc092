import type { Span } from '@opentelemetry/api'
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import type { Log } from '../../core/log.ts'
import { trimTrailing } from '../../core/text/trim.ts'
import { VERSION } from '../../core/version.ts'
import type { AgentGateway } from '../gateways/gateway.ts'
import type { AiProvider } from '../models/provider.ts'
import { createOpenTurns } from './spans.ts'
import { traceGateway, traceProvider } from './trace-provider.ts'

/** OTLP/HTTP exporter settings. `headers` are comma-separated `name=value` pairs. */
type TraceSettings = { endpoint: string; headers: string | undefined; serviceName: string }

type Traces = {
  /** Records a span for each provider call, below the turn that it belongs to. */
  trace(provider: AiProvider): AiProvider
  /** Records a span for each agent turn and tool call. */
  traceGateway(gateway: AgentGateway): AgentGateway
  /** Flushes pending spans, for a few seconds at most. */
  close(): Promise<void>
}

const TIMEOUT_MS = 5_000
const CLOSE_MS = 2_000

/** Loads OpenTelemetry only when traces are exported. */
export async function openTraces({ endpoint, headers, serviceName }: TraceSettings, log: Log): Promise<Traces> {
  const [api, { OTLPTraceExporter }, { BatchSpanProcessor, TracerProvider }, { resourceFromAttributes }] =
    await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/resources'),
    ])
  const exporter = new OTLPTraceExporter({
    url: `${trimTrailing(endpoint, '/')}/v1/traces`,
    headers: toHeaders(headers),
    timeoutMillis: TIMEOUT_MS,
  })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName, 'service.version': VERSION }),
    spanProcessors: [new BatchSpanProcessor({ exporter: loggedOnce(exporter, endpoint, log) })],
  })
  const tracer = provider.getTracer('stead', VERSION)
  const below = (span: Span) => api.trace.setSpan(api.ROOT_CONTEXT, span)
  const turns = createOpenTurns(below)
  return {
    trace: (one) => traceProvider(tracer, turns, one),
    traceGateway: (one) => traceGateway(tracer, { below, turns }, one),
    async close() {
      await Promise.race([provider.shutdown().catch(() => undefined), Bun.sleep(CLOSE_MS)])
    },
  }
}

/** Parses `OTEL_EXPORTER_OTLP_HEADERS` with percent-encoded values. */
function toHeaders(text: string | undefined): Record<string, string> {
  const pairs = (text ?? '').split(',').filter((pair) => pair.includes('='))
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=')
      return [pair.slice(0, at).trim(), decode(pair.slice(at + 1).trim())]
    }),
  )
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Logs once when the collector fails and once when it recovers. */
function loggedOnce(exporter: SpanExporter, endpoint: string, log: Log): SpanExporter {
  let isLost = false
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const hasFailed = result.code !== 0
        if (hasFailed !== isLost) {
          const about = { endpoint, error: result.error?.message }
          if (hasFailed) log.warn(about, 'traces cannot be sent: they are lost until their collector answers')
          else log.info({ endpoint }, 'traces are sent again')
        }
        isLost = hasFailed
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
    ...(exporter.forceFlush && { forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve() }),
  }
}
