import { cpuSeconds } from './child.ts'

/** Requests answered, and what each cost the server in processor time. */
export type Load = { requestsPerSecond: number; cpuMicrosPerRequest: number }

export type Target = {
  url: string
  pid: number
  method: string
  path: string
  headers: Record<string, string>
  body?: string
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n')

/**
 * Sends the same request repeatedly over `connections` keep-alive connections for `durationMs`, one at a time on each.
 * It writes prepared bytes and reads only the status and the end of a response, so that it costs far less CPU time than
 * the server.
 * @throws Error when a response is not 200, or has neither a length nor chunks.
 */
export async function sendLoad(target: Target, connections: number, durationMs: number): Promise<Load> {
  const request = toBytes(target)
  const { hostname, port } = new URL(target.url)
  const run: Run = { request, answers: 0, isOver: false }
  const cpuBefore = await cpuSeconds(target.pid)
  const startedAt = performance.now()
  const ends = Array.from({ length: connections }, () => converse(run, hostname, Number(port)))
  const timer = setTimeout(() => (run.isOver = true), durationMs)
  try {
    await Promise.all(ends)
  } finally {
    run.isOver = true
    clearTimeout(timer)
  }
  const seconds = (performance.now() - startedAt) / 1000
  const cpu = (await cpuSeconds(target.pid)) - cpuBefore
  return { requestsPerSecond: run.answers / seconds, cpuMicrosPerRequest: (cpu / run.answers) * 1_000_000 }
}

type Run = { request: Buffer; answers: number; isOver: boolean }

/** Uses one connection until the run is over. */
function converse(run: Run, hostname: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let rest: Buffer | null = null
    void Bun.connect({
      hostname,
      port,
      socket: {
        open: (socket) => void socket.write(run.request),
        data(socket, chunk) {
          try {
            const received: Buffer = rest ? Buffer.concat([rest, chunk]) : chunk
            rest = isWhole(received) ? null : Buffer.from(received)
          } catch (error) {
            // Reject first: closing rejects as well, with a less precise reason.
            reject(error)
            socket.end()
            return
          }
          if (rest) return
          run.answers++
          if (run.isOver) socket.end()
          else socket.write(run.request)
        },
        close: () => (run.isOver ? resolve() : reject(new Error('The server closed a connection'))),
        error: (_socket, error) => reject(error),
      },
    }).catch(reject)
  })
}

/** Returns whether the whole response has arrived. At most one is expected at a time. */
function isWhole(received: Buffer): boolean {
  const headEnd = received.indexOf(HEAD_END)
  if (headEnd < 0) return false
  const head = received.toString('latin1', 0, headEnd)
  if (!head.startsWith('HTTP/1.1 200')) throw new Error(`Unexpected answer: ${received.toString()}`)
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  if (length === undefined && !/\r\ntransfer-encoding: chunked/i.test(head))
    throw new Error(`An answer without length: ${head}`)
  if (length === undefined) return received.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK)
  return received.length >= headEnd + HEAD_END.length + Number(length)
}

function toBytes({ url, method, path, headers, body = '' }: Target): Buffer {
  const fields = {
    host: new URL(url).host,
    ...headers,
    ...(body ? { 'content-length': String(Buffer.byteLength(body)) } : {}),
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
}
