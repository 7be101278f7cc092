import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { roundsOf } from '../../harness/rounds.ts'
import { SERVICE_KEY, startServer } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_120)
const REQUESTS = roundsOf('FUZZ_WIRE_REQUESTS', 300)

const WHOLE = [
  `POST /api/register HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{"email":"a@"}`,
  'POST /api/auth/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
  `GET /api/agents HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${SERVICE_KEY}\r\nAccept: */*\r\n\r\n`,
  'GET /api/health HTTP/1.1\r\nHost: localhost\r\nCookie: service-session=x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
]
const PIECES = [
  '\0',
  '\r',
  '\n',
  '\r\n\r\n',
  ' ',
  ':',
  '\xff',
  '%00',
  '-1',
  'HTTP/9.9',
  'x'.repeat(20_000),
  '0\r\n\r\n',
  '//',
]

/** A request with bytes inserted or removed, in Latin-1. */
const broken = fc
  .tuple(
    fc.constantFrom(...WHOLE),
    fc.array(fc.record({ at: fc.nat(250), piece: fc.constantFrom(...PIECES), cut: fc.nat(8) }), {
      minLength: 1,
      maxLength: 3,
    }),
  )
  .map(([whole, changes]) =>
    changes.reduce((text, { at, piece, cut }) => text.slice(0, at) + piece + text.slice(at + cut), whole),
  )

test('arbitrary bytes neither end the service nor cause a 500 or internals in a response', async () => {
  console.log(`fuzz: seed ${SEED}, ${REQUESTS} broken requests on the wire`)
  await using server = await startServer({ RATE_LIMIT_REGISTER: '1000000', RATE_LIMIT_LOGIN: '1000000' })
  const ports = [server.urls.web, server.urls.backend, server.urls.summarizer].map((url) => Number(new URL(url).port))
  const wrong: unknown[] = []
  for (const [index, text] of fc.sample(broken, { seed: SEED, numRuns: REQUESTS }).entries()) {
    const answer = await sendBytes(ports[index % ports.length] ?? 0, Buffer.from(text, 'latin1'))
    if (/^HTTP\/1\.1 500/m.test(answer) || /\n\s+at |\.ts:\d+|node_modules/.test(answer)) wrong.push({ text, answer })
  }
  expect(wrong).toEqual([])
  const paths = [`${server.urls.web}/api/health`, `${server.urls.backend}/health`, `${server.urls.summarizer}/health`]
  for (const path of paths) expect((await fetch(path)).status).toBe(200)
}, 300_000)

/** Sends all bytes and ends. @returns the response until the server closes or is silent. */
async function sendBytes(port: number, bytes: Uint8Array): Promise<string> {
  let answer = ''
  let isOver = false
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      data: (_socket, chunk) => {
        answer += chunk.toString('latin1')
      },
      close: () => {
        isOver = true
      },
      error: () => {
        isOver = true
      },
    },
  })
  socket.write(bytes)
  socket.flush()
  // Half of the requests are incomplete, and the server waits for more; the test does not.
  const startedAt = performance.now()
  await until('an answer or its absence', () => isOver || answer !== '' || performance.now() - startedAt > 50)
  socket.terminate()
  return answer
}
