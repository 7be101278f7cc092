import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { CHAT } from './chat.ts'
import { MESSAGES } from './messages.ts'
import { readTokenCount } from './messages-request.ts'
import { RESPONSES } from './responses.ts'
import { readInputCount } from './responses-request.ts'
import {
  type VendorAnswer,
  type VendorCall,
  type VendorDialect,
  type VendorEvent,
  VendorRefusal,
  type VendorScript,
} from './script.ts'

/** The only key that the vendor accepts. */
export const VENDOR_KEY = 'sk-vendor-double'

/** A rejected request with its response. */
export type RefusedCall = { path: string; status: number; message: string; body: unknown }

export type Vendor = AsyncDisposable & {
  /** The base URL, with `/v1`. */
  baseUrl: string
  /** Valid model calls, in order. */
  calls: VendorCall[]
  /** Valid token count requests. */
  counts: { path: string; body: unknown; headers: Readonly<Record<string, string>> }[]
  /** Invalid requests. */
  refused: RefusedCall[]
  answerWith(next: VendorAnswer | VendorScript): void
}

export type VendorOptions = {
  models: readonly string[]
  /** Supported dialects; others are unknown paths. */
  dialects?: readonly VendorDialect['dialect'][]
  /** Status of every token count request; default 200. */
  countStatus?: number
}

const DIALECTS: Readonly<Record<string, VendorDialect>> = {
  '/v1/chat/completions': CHAT,
  '/v1/messages': MESSAGES,
  '/v1/responses': RESPONSES,
}

/** Starts a model vendor over HTTP that validates requests as strictly as the real ones and responds from a script. */
export async function startVendor({ models, dialects, countStatus }: VendorOptions): Promise<Vendor> {
  let script: VendorScript = () => ({})
  const calls: VendorCall[] = []
  const refused: RefusedCall[] = []
  const counts: Vendor['counts'] = []
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://vendor').pathname
    const spoken = DIALECTS[path]
    const dialect = spoken && dialects && !dialects.includes(spoken.dialect) ? undefined : spoken
    const headers = toHeaders(request)
    const isAnthropic = 'anthropic-version' in headers || path.startsWith('/v1/messages')
    const { errorBody } = dialect ?? (isAnthropic ? MESSAGES : CHAT)
    void (async () => {
      let body: unknown = null
      try {
        requireKey(headers)
        body = await readBody(request)
        if (path === '/v1/models') return sendJson(response, 200, listModels(models, isAnthropic))
        const count = COUNTS[path]
        if (count) {
          if (countStatus !== undefined) throw new VendorRefusal(countStatus, `The vendor answers ${countStatus}.`)
          const counted = count(body, headers)
          requireModel(models, counted.model)
          counts.push({ path, body, headers })
          return sendJson(response, 200, toTokens(counted))
        }
        if (!dialect) throw new VendorRefusal(404, `Unknown request URL: ${request.method} ${path}.`)
        const call = {
          number: calls.length + 1,
          dialect: dialect.dialect,
          path,
          headers,
          ...dialect.read(body, headers),
        }
        requireModel(models, call.body.model)
        const heard = { ...call, ended: untilEnd(response) }
        calls.push(heard)
        await sendAnswer(response, dialect, heard, await script(heard))
      } catch (error) {
        const { status, message, code } = error instanceof VendorRefusal ? error : new VendorRefusal(500, String(error))
        refused.push({ path, status, message, body })
        sendJson(response, status, errorBody(status, message, code))
      }
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    calls,
    counts,
    refused,
    answerWith(next) {
      script = typeof next === 'function' ? next : () => next
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

function toHeaders({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

/** Checks the key. Anthropic treats a bearer token as OAuth, so it rejects a key that is sent in both headers. */
function requireKey(headers: Readonly<Record<string, string>>): void {
  const { 'x-api-key': apiKey, authorization } = headers
  const given = apiKey ?? authorization?.replace(/^Bearer /, '')
  const isOne = apiKey === undefined || authorization === undefined
  if (given !== VENDOR_KEY || !isOne) throw new VendorRefusal(401, 'Incorrect API key provided.', 'invalid_api_key')
}

function requireModel(models: readonly string[], model: string): void {
  if (!models.includes(model)) throw new VendorRefusal(404, `The model \`${model}\` does not exist.`, 'model_not_found')
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  return text ? JSON.parse(text) : null
}

function sendJson(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

function listModels(models: readonly string[], isAnthropic: boolean): unknown {
  if (!isAnthropic)
    return {
      object: 'list',
      data: models.map((id) => ({ id, object: 'model', created: 1_700_000_000, owned_by: 'double' })),
    }
  const created_at = '2026-01-01T00:00:00Z'
  const data = models.map((id) => ({ type: 'model', id, display_name: id, created_at }))
  return { data, has_more: false, first_id: models[0] ?? null, last_id: models.at(-1) ?? null }
}

const COUNTS: Readonly<
  Record<string, (body: unknown, headers: Readonly<Record<string, string>>) => { model: string; text: unknown }>
> = {
  '/v1/messages/count_tokens': (body, headers) => {
    const { model, system, messages, tools } = readTokenCount(body, headers)
    return { model, text: [system, messages, tools] }
  },
  '/v1/responses/input_tokens': (body) => {
    const { model, instructions, input, tools } = readInputCount(body)
    return { model, text: [instructions, input, tools] }
  },
}

/** Differs from Stead's estimate, as real vendors do. */
function toTokens({ text }: { text: unknown }) {
  return { object: 'response.input_tokens', input_tokens: JSON.stringify(text).length }
}

function untilEnd(response: ServerResponse): VendorCall['ended'] {
  return new Promise((resolve) => {
    response.on('finish', () => resolve('complete'))
    response.on('close', () => resolve(response.writableFinished ? 'complete' : 'aborted'))
  })
}

async function sendAnswer(response: ServerResponse, dialect: VendorDialect, call: VendorCall, answer: VendorAnswer) {
  const { fault } = answer
  if (fault === 'silence') return
  if (typeof fault === 'object' && 'status' in fault) {
    const { status, retryAfterSeconds } = fault
    const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
    return sendJson(response, status, dialect.errorBody(status, `The vendor answers ${status}.`, null), headers)
  }
  if (!call.body.stream) {
    await answer.beforeEvent?.(0)
    return sendJson(response, 200, dialect.answer(call, answer))
  }
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  response.flushHeaders()
  const events = dialect.events(call, answer)
  const cut = fault && 'cutAfterEvents' in fault ? fault.cutAfterEvents : Number.POSITIVE_INFINITY
  const failed = fault && 'errorAfterEvents' in fault ? fault.errorAfterEvents : Number.POSITIVE_INFINITY
  const hung = fault && 'hangAfterEvents' in fault ? fault.hangAfterEvents : Number.POSITIVE_INFINITY
  for (const [index, event] of events.entries()) {
    await answer.beforeEvent?.(index)
    if (index >= hung) return
    if (index >= cut) return void response.socket?.destroy()
    if (index >= failed) {
      response.write(toText(dialect.errorEvent('The vendor is overloaded.')))
      break
    }
    response.write(toText(event))
  }
  response.end()
}

function toText({ event, data }: VendorEvent): string {
  const name = event === undefined ? '' : `event: ${event}\n`
  return `${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
}
