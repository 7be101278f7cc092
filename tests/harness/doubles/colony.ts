import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Outcome of a payment order. `settles …` transfers the money; `cut` closes the connection, `hangs` never responds. */
export const FAULTS = [
  'settles',
  'settles, then cut',
  'settles, then 502',
  'settles, then no JSON',
  'settles, tells another amount',
  'settles, tells another currency',
  'cut',
  '402',
  '400',
  '502',
  'refuses in a 200',
] as const
export type Fault = (typeof FAULTS)[number]

type Answer = { status: number; body: unknown }

export type ColonyDouble = AsyncDisposable & {
  url: string
  /** Number of orders received for each payment; each should be 1. */
  readonly orders: Map<string, number>
  readonly settled: Set<string>
  /** Outcome of the next payment orders. */
  fault: Fault | 'hangs'
  /** Responses by path that replace those of a conforming gateway. */
  answers: Record<string, Answer>
  /** If true, the gateway reports the outcome of a payment. */
  knowsPayments: boolean
  /** Last request body by path. */
  readonly asked: Record<string, unknown>
}

/**
 * Starts a payment gateway with realistic faults: it crashes after settling, refuses with status 200, or reports
 * another amount.
 */
export async function startColonyDouble(): Promise<ColonyDouble> {
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const double: ColonyDouble = {
    url: `http://127.0.0.1:${port}`,
    orders: new Map(),
    settled: new Set(),
    fault: 'settles',
    answers: {},
    knowsPayments: true,
    asked: {},
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return double

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '/'
    const body = await readJson(request)
    double.asked[path] = body
    const answered = path === '/gateway/pay' ? pay(body) : (double.answers[path] ?? answerTo(path))
    if (answered === 'cut') response.socket?.destroy()
    else if (answered !== 'hangs') send(response, answered)
  }

  function answerTo(path: string): Answer {
    const id = decodeURIComponent(path.replace('/gateway/payments/', ''))
    if (id === path || !double.knowsPayments) return { status: 404, body: { error: 'Not found' } }
    if (double.settled.has(id)) return { status: 200, body: { paymentId: id, status: 'settled' } }
    return { status: 404, body: { paymentId: id, status: 'not_found' } }
  }

  function pay(body: Record<string, unknown>): Answer | 'cut' | 'hangs' {
    const id = String(body.paymentId)
    const { fault } = double
    double.orders.set(id, (double.orders.get(id) ?? 0) + 1)
    if (fault.startsWith('settles')) double.settled.add(id)
    const { agentId, endpoint, amount, currency } = body
    const receipt = { ok: true, agentId, endpoint, amount, currency, result: { receipt: `receipt of ${id}` } }
    switch (fault) {
      case 'settles':
        return { status: 200, body: receipt }
      case 'settles, tells another amount':
        return { status: 200, body: { ...receipt, amount: 99 } }
      case 'settles, tells another currency':
        return { status: 200, body: { ...receipt, currency: 'DOGE' } }
      case 'settles, then 502':
      case '502':
        return { status: 502, body: { error: 'Payment failed', detail: 'upstream' } }
      case 'settles, then no JSON':
        return { status: 200, body: '{"ok": tr' }
      case '402':
        return { status: 402, body: { error: 'Payment required' } }
      case '400':
        return { status: 400, body: { error: 'agentId and endpoint required' } }
      case 'refuses in a 200':
        return { status: 200, body: { ok: false, error: 'Insufficient funds' } }
      case 'hangs':
        return 'hangs'
      default:
        return 'cut'
    }
  }
}

/** Sends strings unchanged and other values as JSON. */
function send(response: ServerResponse, { status, body }: Answer): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json' }).end(text)
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text === '' ? {} : JSON.parse(text)
}
