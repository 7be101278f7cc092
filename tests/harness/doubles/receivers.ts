import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

/** A received request and its response; null when the connection was reset or left silent. */
export type Delivery = { path: string; headers: Record<string, string>; body: string; status: number | null }

/** Outcome of the next request: a status, a status with a JSON body, a reset connection, or no response. */
export type Fault = number | { status: number; body: object } | 'reset' | 'hang'

export type Receiver = AsyncDisposable & {
  readonly url: string
  /** Oldest first. */
  readonly deliveries: Delivery[]
  /** Each fault applies to one request; later requests get status 200. */
  failWith(...faults: Fault[]): void
  /** Bodies of the requests that got status 200. */
  taken(): string[]
}

/** Starts an HTTP server that replaces Telegram or a user's webhook. */
export async function startReceiver(): Promise<Receiver> {
  const deliveries: Delivery[] = []
  const faults: Fault[] = []
  const server = createServer((request, response) => {
    receive(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
  })
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    let body = ''
    for await (const bytes of request) body += String(bytes)
    const fault = faults.shift() ?? 200
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)] as const),
    )
    const answer = typeof fault === 'number' ? { status: fault, body: { ok: true } } : fault
    const isAnswer = typeof answer === 'object'
    deliveries.push({ path: request.url ?? '', headers, body, status: isAnswer ? answer.status : null })
    if (fault === 'reset') request.socket.resetAndDestroy()
    if (isAnswer)
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body))
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    deliveries,
    failWith: (...more) => void faults.push(...more),
    taken: () => deliveries.filter(({ status }) => status === 200).map(({ body }) => body),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
