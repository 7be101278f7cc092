import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { PASSWORD, type Person, signIn, signUp } from '../../harness/client.ts'
import { bearer, json } from '../../harness/requests.ts'
import { openInstallation } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'
import { openRaw, type RawConnection } from '../../harness/wires/raw-http.ts'

const MEGABYTE = 1024 * 1024
const STRANGERS = 60
const HALF = 'x'.repeat(4 * MEGABYTE)
const Created = z.object({ key: z.string() })

test('401 for 60 strangers with half an 8 MB body each, which use no memory', async () => {
  await using installation = await openInstallation()
  const program = await installation.start()
  const before = residentBytes(program.pid)
  const connections = await sendHalves(program.urls.backend, 'sk_nobody')
  try {
    for (const connection of connections) expect((await connection.answer()).status).toBe(401)
    expect(residentBytes(program.pid) - before).toBeLessThan(100 * MEGABYTE)
    expect((await fetch(`${program.urls.web}/api/health`)).status).toBe(200)
  } finally {
    for (const connection of connections) connection[Symbol.dispose]()
  }
})

test('503 with Retry-After when one user sends 60 bodies of 8 MB; other users are served', async () => {
  await using installation = await openInstallation({ environment: { AI_ECHO: 'true' } })
  const program = await installation.start()
  const ada = await keyOf(await signUp(program.urls.web))
  await installation.run(['user', 'create', 'bo@example.com', '--password-stdin', '--plan', 'network'], {
    stdin: PASSWORD,
  })
  const bo = await keyOf(await signIn(program.urls.web, 'bo@example.com'))
  const before = residentBytes(program.pid)
  const connections = await sendHalves(program.urls.backend, ada)
  try {
    const refused = await until('most requests to be rejected', () => {
      const answered = connections.filter((connection) => connection.received() !== '')
      return answered.length >= STRANGERS - 16 ? answered : null
    })
    for (const connection of refused) {
      const { status, headers } = await connection.answer()
      expect([status, headers.get('retry-after')]).toEqual([503, '1'])
    }
    expect(residentBytes(program.pid) - before).toBeLessThan(250 * MEGABYTE)
    const question = { model: 'local/echo', messages: [{ role: 'user', content: 'x'.repeat(MEGABYTE) }] }
    const answer = await fetch(`${program.urls.backend}/v1/chat/completions`, json('POST', question, bearer(bo)))
    expect(answer.status).toBe(200)
  } finally {
    for (const connection of connections) connection[Symbol.dispose]()
  }
})

/** Opens connections that send half of a completion body. */
async function sendHalves(url: string, key: string): Promise<RawConnection[]> {
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${8 * MEGABYTE}`,
  ]
  const connections = await Promise.all(Array.from({ length: STRANGERS }, () => openRaw(url)))
  for (const connection of connections) void connection.write(`${head.join('\r\n')}\r\n\r\n${HALF}`)
  return connections
}

async function keyOf(person: Person): Promise<string> {
  const response = await person.post('/api/keys', { name: 'agents' })
  return Created.parse(await response.json()).key
}

/** Returns the resident memory of a process in bytes. */
function residentBytes(pid: number): number {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1])
  return pages * 4096
}
