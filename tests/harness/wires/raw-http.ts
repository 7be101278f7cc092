import { connect } from 'node:net'
import { until } from '../until.ts'

/** A raw response; `body` is the part received so far. */
type RawAnswer = { status: number; headers: Headers; body: string }

/** A raw connection, for requests that no client would send; disposing it closes the socket. */
export type RawConnection = Disposable & {
  /** Resolves when the kernel has accepted the bytes. */
  write(bytes: string | Uint8Array): Promise<void>
  /** Resolves with the first response, with a body of its declared length. */
  answer(): Promise<RawAnswer>
  /** Returns everything received so far. */
  received(): string
  /** Returns whether the peer has closed or reset the connection. */
  isOver(): boolean
}

/** Connects to the port of `url` at `host`. */
export async function openRaw(url: string, host = '127.0.0.1'): Promise<RawConnection> {
  let text = ''
  let isOver = false
  const over = () => {
    isOver = true
  }
  const socket = connect({ port: Number(new URL(url).port), host, allowHalfOpen: false })
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1')
  })
  socket.on('end', over)
  socket.on('close', over)
  // `isOver` reports the error.
  socket.on('error', over)
  await until('a connection', () => !socket.connecting)
  return {
    write: (bytes) => new Promise((resolve) => socket.write(bytes, () => resolve())),
    answer: () => until('an answer', () => readAnswer(text)),
    received: () => text,
    isOver: () => isOver,
    [Symbol.dispose]: () => void socket.destroy(),
  }
}

/** Sends the header lines and body of a request, and returns the response. */
export async function askRaw(url: string, head: readonly string[], body = '', host?: string): Promise<RawAnswer> {
  using connection = await openRaw(url, host)
  await connection.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  return await connection.answer()
}

function readAnswer(text: string): RawAnswer | null {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  if (rest.length === 0) return null
  const [first = '', ...lines] = head.split('\r\n')
  const headers = new Headers(
    lines.map((line): [string, string] => [line.split(':')[0] ?? '', line.slice(line.indexOf(':') + 1)]),
  )
  const body = rest.join('\r\n\r\n')
  const length = Number(headers.get('content-length') ?? 0)
  return body.length < length ? null : { status: Number(first.split(' ')[1]), headers, body }
}
