import { createServer, type Socket } from 'node:net'
import { z } from 'zod'

/** Fault of one response. `cutAtByte` counts body bytes, `hangAfterEvents` stream events; `hang-mid-body` follows the first chunk. */
export type Fault =
  | { status: number; headers?: Record<string, string>; body?: string }
  | { cutAtByte: number }
  | { hangAfterEvents: number }
  | 'hang'
  | 'hang-mid-body'
  | 'reset'
  | 'malformed-json'
  | 'html'
  | 'empty-choices'
  | 'no-done'

/** The usage object of a response, with provider-specific fields. */
type Usage = {
  prompt_tokens: number
  completion_tokens: number
  prompt_tokens_details?: { cached_tokens: number }
  prompt_cache_hit_tokens?: number
  cost?: number
}

/**
 * A response. The default is `Hello.` with 1,000 input and 500 output tokens. An array in `text` is streamed in chunks.
 */
export type Answer = {
  text?: string | string[]
  /** Reasoning, streamed before the text. */
  thoughts?: string
  toolCalls?: { name: string; arguments: Record<string, unknown> }[]
  usage?: Usage | null
  fault?: Fault
  /** Returns the promise that the stream event with this index waits for. */
  beforeEvent?: (index: number) => Promise<void>
}

const Body = z.looseObject({
  model: z.string().optional(),
  stream: z.boolean().optional(),
  messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })).default([]),
})

/** A received request. `closed` settles with whether the client disconnected before the end of the response. */
export type ProviderRequest = {
  method: string
  path: string
  headers: Record<string, string>
  body: z.infer<typeof Body>
  closed: Promise<'complete' | 'aborted'>
}

export type Answering = (request: ProviderRequest) => Answer | Promise<Answer>

export type ProviderDouble = AsyncDisposable & {
  baseUrl: string
  /** Chat requests received so far. */
  chats: ProviderRequest[]
  /** Sets the response to chat requests. */
  answerWith(answer: Answer | Answering): void
  /** Sets the status of `GET /models`. */
  listModelsWith(status: number): void
  /** Sets the models that `GET /models` lists. */
  offer(models: readonly string[]): void
  stop(): Promise<void>
}

/** Listed models, without prices: those come from the built-in table. */
const MODELS = ['openai/gpt-4o-mini', 'openai/gpt-4o', 'anthropic/claude-opus-4.6', 'unknown/nobody-knows-its-price']

/** Model fields of an aggregator besides the id. */
const DETAILS: Readonly<Record<string, object>> = {
  'openai/gpt-4o': {
    name: 'OpenAI: GPT-4o',
    description: 'Sees and speaks.',
    context_length: 256_000,
    architecture: { input_modalities: ['text', 'image'] },
    supported_parameters: ['tools', 'temperature'],
    pricing: { prompt: '0.0000025', completion: '0.00001', input_cache_read: '0.00000125' },
  },
}

/** Starts a model provider with OpenAI's protocol over real sockets, streamed or not, with faults on request. */
export async function startProvider(first: Answer | Answering = {}): Promise<ProviderDouble> {
  let answer = first
  let modelsStatus = 200
  let models: readonly string[] = MODELS
  const chats: ProviderRequest[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    void serveOne(socket, async (request) => {
      if (request.path.endsWith('/models')) return { status: modelsStatus, type: JSON_TYPE, body: modelList(models) }
      chats.push(request)
      const given = typeof answer === 'function' ? await answer(request) : answer
      return { ...toReply(request, given), beforeEvent: given.beforeEvent }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const stop = async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    chats,
    answerWith(next) {
      answer = next
    },
    listModelsWith(status) {
      modelsStatus = status
    },
    offer(next) {
      models = next
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

const JSON_TYPE = 'application/json'

/** Bytes for the socket: `cut` closes it inside the body, `hang` keeps it open after `body`. */
type Reply = {
  status: number
  type: string
  headers?: Record<string, string>
  body: string
  beforeEvent?: Answer['beforeEvent']
  end?: 'cut' | 'hang' | 'reset' | 'silence'
}

async function serveOne(socket: Socket, toAnswer: (request: ProviderRequest) => Promise<Reply>): Promise<void> {
  const closed = Promise.withResolvers<'complete' | 'aborted'>()
  let isComplete = false
  socket.on('close', () => closed.resolve(isComplete ? 'complete' : 'aborted'))
  const request = await readRequest(socket, closed.promise)
  if (!request) return
  const { status, type, headers = {}, body, beforeEvent, end } = await toAnswer(request)
  if (end === 'silence') return
  if (end === 'reset') {
    socket.resetAndDestroy()
    return
  }
  const head = { 'content-type': type, connection: 'close', 'transfer-encoding': 'chunked', ...headers }
  socket.write(`HTTP/1.1 ${status} Answer\r\n${toLines(head)}\r\n`)
  for (const [index, piece] of body.split(/(?<=\n\n)/).entries()) {
    await beforeEvent?.(index)
    if (piece) socket.write(toHttpChunk(piece))
  }
  if (end === 'hang') return
  isComplete = true
  if (end === 'cut') socket.destroySoon()
  else socket.end('0\r\n\r\n')
}

async function readRequest(socket: Socket, closed: ProviderRequest['closed']): Promise<ProviderRequest | null> {
  let received = Buffer.alloc(0)
  return new Promise((resolve) => {
    socket.on('close', () => resolve(null))
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, Buffer.from(bytes)])
      const headEnd = received.indexOf('\r\n\r\n')
      if (headEnd === -1) return
      const [first = '', ...lines] = received.toString('latin1', 0, headEnd).split('\r\n')
      const headers = Object.fromEntries(lines.map(toHeader))
      const body = received.subarray(headEnd + 4)
      if (body.length < Number(headers['content-length'] ?? 0)) return
      const [method = '', path = ''] = first.split(' ')
      resolve({ method, path, headers, body: Body.parse(body.length > 0 ? JSON.parse(body.toString()) : {}), closed })
    })
  })
}

function toHeader(line: string): [string, string] {
  const at = line.indexOf(':')
  return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]
}

function toLines(headers: Record<string, string>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
}

function toHttpChunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}

function toReply(request: ProviderRequest, answer: Answer): Reply {
  const { fault } = answer
  const sound = request.path.endsWith('/embeddings')
    ? vectors(request, answer)
    : request.body.stream
      ? streamed(request, answer)
      : whole(request, answer)
  if (fault === undefined) return sound
  if (fault === 'hang') return { ...sound, end: 'silence' }
  if (fault === 'reset') return { ...sound, end: 'reset' }
  if (fault === 'hang-mid-body') return { ...sound, body: firstPiece(sound.body), end: 'hang' }
  if (fault === 'malformed-json')
    return { ...sound, body: request.body.stream ? 'data: {"choices":[\n\n' : '{"choices":[' }
  if (fault === 'html') return { status: 200, type: 'text/html', body: '<!doctype html><h1>Welcome</h1>' }
  if (fault === 'empty-choices')
    return { ...sound, body: sound.body.replace(/"choices":\[.*?\](?=[,}])/gs, '"choices":[]') }
  if (fault === 'no-done') return { ...sound, body: sound.body.replace('data: [DONE]\n\n', '') }
  if ('hangAfterEvents' in fault) {
    const events = sound.body.split(/(?<=\n\n)/)
    return { ...sound, body: events.slice(0, fault.hangAfterEvents).join(''), end: 'hang' }
  }
  if ('cutAtByte' in fault) {
    return { ...sound, body: Buffer.from(sound.body).subarray(0, fault.cutAtByte).toString(), end: 'cut' }
  }
  return {
    status: fault.status,
    type: JSON_TYPE,
    headers: fault.headers ?? {},
    body: fault.body ?? errorBody(fault.status),
  }
}

function firstPiece(body: string): string {
  return body.includes('\n\n') ? `${body.split('\n\n')[0]}\n\n` : body.slice(0, 10)
}

function whole({ body }: ProviderRequest, answer: Answer): Reply {
  const toolCalls = toToolCalls(answer)
  const message = { role: 'assistant', content: toPieces(answer).join(''), ...(toolCalls && { tool_calls: toolCalls }) }
  const choices = [{ index: 0, message, finish_reason: toolCalls ? 'tool_calls' : 'stop' }]
  return {
    status: 200,
    type: JSON_TYPE,
    body: JSON.stringify({ ...head(body, 'chat.completion'), choices, ...usageOf(answer) }),
  }
}

function vectors({ body }: ProviderRequest, answer: Answer): Reply {
  const inputs = Array.isArray(body.input) ? body.input : [body.input]
  const data = inputs.map((_input, index) => ({ object: 'embedding', index, embedding: [0.5, -0.5] }))
  return {
    status: 200,
    type: JSON_TYPE,
    body: JSON.stringify({ object: 'list', data, model: body.model, ...usageOf(answer) }),
  }
}

function streamed({ body }: ProviderRequest, answer: Answer): Reply {
  const toolCalls = toToolCalls(answer)?.map((call, index) => ({ index, ...call }))
  const deltas = [
    ...(answer.thoughts ? [{ role: 'assistant', content: null, reasoning_content: answer.thoughts }] : []),
    ...(toolCalls ? [] : toPieces(answer).map((content) => ({ role: 'assistant', content }))),
    ...(toolCalls ? [{ role: 'assistant', content: null, tool_calls: toolCalls }] : []),
  ]
  const chunk = (fields: object) => `data: ${JSON.stringify({ ...head(body, 'chat.completion.chunk'), ...fields })}\n\n`
  const end = chunk({ choices: [{ index: 0, delta: {}, finish_reason: toolCalls ? 'tool_calls' : 'stop' }] })
  const usage = answer.usage === null ? '' : chunk({ choices: [], ...usageOf(answer) })
  const said = deltas.map((delta) => chunk({ choices: [{ index: 0, delta, finish_reason: null }] })).join('')
  return { status: 200, type: 'text/event-stream', body: `${said}${end}${usage}data: [DONE]\n\n` }
}

function head(body: ProviderRequest['body'], object: string) {
  return { id: 'chatcmpl-double', object, created: 1_800_000_000, model: body.model ?? '' }
}

function toPieces({ text = 'Hello.', toolCalls }: Answer): string[] {
  if (toolCalls) return []
  return Array.isArray(text) ? text : [text]
}

function toToolCalls({ toolCalls }: Answer) {
  return toolCalls?.map((call, index) => ({
    id: `call_${index}`,
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }))
}

function usageOf({ usage = { prompt_tokens: 1000, completion_tokens: 500 } }: Answer) {
  return usage === null ? {} : { usage: { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens } }
}

function errorBody(status: number): string {
  return JSON.stringify({ error: { message: `the provider says ${status}`, type: 'error', code: status } })
}

function modelList(models: readonly string[]): string {
  return JSON.stringify({
    object: 'list',
    data: models.map((id) => ({ id, object: 'model', created: 0, owned_by: 'double', ...DETAILS[id] })),
  })
}
