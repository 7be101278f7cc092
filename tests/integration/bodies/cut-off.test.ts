import { expect, test } from 'bun:test'
import { z } from 'zod'
import { type Person, signUp } from '../../harness/client.ts'
import { read } from '../../harness/requests.ts'
import { openInstallation, SERVICE_KEY } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'
import { openRaw } from '../../harness/wires/raw-http.ts'

const Created = z.object({ key: z.string() })
const INFO = 30
/** Exceeds one read and stays below the limit of every route. */
const LENGTH = 400_000
const HALF = `{"half": "${'x'.repeat(LENGTH / 2)}`

test('a caller who disconnects during a body causes no error in the log', async () => {
  await using installation = await openInstallation({ environment: { LOG_LEVEL: 'debug', AI_ECHO: 'true' } })
  const program = await installation.start()
  const { web, backend, summarizer } = program.urls
  const person = await signUp(web)
  const session = `Cookie: ${person.cookie.cookie}`
  const service = `Authorization: Bearer ${SERVICE_KEY}`
  const callers = [
    [web, 'POST /api/register', session],
    [web, 'POST /api/auth/login', session],
    [web, 'POST /api/keys', session],
    [web, 'POST /api/agents/provision', session],
    [web, 'POST /api/chat', session],
    [backend, 'POST /api/agents', service],
    [backend, 'POST /v1/chat/completions', `Authorization: Bearer ${await keyOf(person)}`],
    [summarizer, 'POST /api/summarize', 'Accept: */*'],
  ] as const
  for (const [index, [url, route, header]] of callers.entries()) {
    for (const [size, ending] of [
      ['with-length', `Content-Length: ${LENGTH}\r\n\r\n${HALF}`],
      ['in-chunks', `Transfer-Encoding: chunked\r\n\r\n${HALF.length.toString(16)}\r\n${HALF}\r\n`],
      ['small', 'Content-Length: 100\r\n\r\n{"half": "'],
    ] as const) {
      const id = `caller-${index}-${size}`
      const head = [`${route} HTTP/1.1`, 'Host: localhost', header, `X-Request-Id: ${id}`]
      const connection = await openRaw(url)
      await connection.write(`${head.join('\r\n')}\r\nContent-Type: application/json\r\n${ending}`)
      // Other requests are served while this one waits for the rest of its body.
      expect((await fetch(`${web}/api/health`)).status).toBe(200)
      expect([id, connection.received()]).toEqual([id, ''])
      connection[Symbol.dispose]()
      await until(`the line of ${route}, ${size}`, () =>
        linesOf(program.lines).some(({ requestId }) => requestId === id),
      )
    }
  }
  expect(linesOf(program.lines).filter(({ level }) => level > INFO)).toEqual([])
  const { stderr } = await program.stop()
  expect(stderr).toBe('')
}, 300_000)

const Line = z.looseObject({ level: z.number(), requestId: z.string().optional() })

function linesOf(lines: readonly string[]) {
  return lines.filter((line) => line.startsWith('{')).map((line) => Line.parse(JSON.parse(line)))
}

async function keyOf(person: Person): Promise<string> {
  return (await read(Created, person.post('/api/keys', { name: 'cut off' }))).key
}
