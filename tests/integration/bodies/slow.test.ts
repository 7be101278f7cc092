import { expect, test } from 'bun:test'
import { SERVICE_KEY, startServer } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'
import { openRaw } from '../../harness/wires/raw-http.ts'
import { openAgentProxy, startAgentDouble } from '../agent-proxy/open-agent-proxy.ts'

/** The real timeouts take most of a minute; only `bun run stress bodies` waits for them. */
const HAS_TIME = process.env.BODY_STRICT === '1'
const BYTE_MS = 3000
/** 30 s for a body, 40 s after a response, and a margin for a busy machine. */
const END_MS = 70_000

test.skipIf(!HAS_TIME)(
  'a body with a byte every three seconds is ended at the time limit, on every port and at agents',
  async () => {
    await using server = await startServer()
    using listening = startAgentDouble(async (request) => new Response(await request.text().catch(() => '')))
    using refusing = startAgentDouble(() => new Response('no', { status: 401 }))
    await using agentProxy = await openAgentProxy()
    await agentProxy.add('listens', listening.port)
    await agentProxy.add('refuses', refusing.port)
    const drips: [string, string, string[], number][] = [
      ['a stranger at /v1', server.urls.backend, ['POST /v1/chat/completions HTTP/1.1', 'Host: localhost'], 401],
      ['a stranger who signs in', server.urls.web, ['POST /api/auth/login HTTP/1.1', 'Host: localhost'], 408],
      ['a route that wants no body', server.urls.web, ['POST /api/auth/signout HTTP/1.1', 'Host: localhost'], 200],
      [
        'the operator',
        server.urls.backend,
        ['POST /api/agents HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${SERVICE_KEY}`],
        408,
      ],
      ['the summarizer', server.urls.summarizer, ['POST /api/summarize HTTP/1.1', 'Host: localhost'], 408],
      ['an agent that listens', agentProxy.web, ['POST / HTTP/1.1', `Host: ${agentProxy.host('listens')}`], 408],
      ['an agent that refuses', agentProxy.web, ['POST / HTTP/1.1', `Host: ${agentProxy.host('refuses')}`], 401],
    ]
    await Promise.all(
      drips.map(async ([who, url, head, expected]) => {
        using connection = await openRaw(url)
        const lines = [...head, 'Content-Type: application/json', 'Content-Length: 1000000']
        await connection.write(`${lines.join('\r\n')}\r\n\r\n`)
        const drip = setInterval(() => void connection.write('x'), BYTE_MS)
        try {
          const isOver = await until(`the end of ${who}`, connection.isOver, END_MS)
          expect([who, isOver, (await connection.answer()).status]).toEqual([who, true, expected])
        } finally {
          clearInterval(drip)
        }
      }),
    )
  },
  2 * END_MS,
)
