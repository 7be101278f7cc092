import { describe, expect, test } from 'bun:test'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { z } from 'zod'
import { ProvisionResponse, WebAgentList } from '../../src/features/agents/registry/schemas.ts'
import { type Person, signUp } from '../harness/client.ts'
import { findEngine } from '../harness/engines/engine.ts'
import { findAgentPorts } from '../harness/ports.ts'
import { read } from '../harness/requests.ts'
import { roundsOf } from '../harness/rounds.ts'
import { startServer, type TestServer } from '../harness/server.ts'
import { tempFolder } from '../harness/temp-folder.ts'
import { until } from '../harness/until.ts'

const BUSYBOX = Bun.which('busybox')
const AGENTS = roundsOf('PORT_AGENTS', 8)
const Rows = z.array(z.object({ status: z.string(), port: z.number().nullable() }))

describe.skipIf(BUSYBOX === null)('used ports', () => {
  test(`each of ${AGENTS} concurrent process agents gets its own port when ${AGENTS / 2} ports are used`, async () => {
    using folder = tempFolder()
    await Bun.write(folder.file('healthz'), '{"ok":true,"status":"live"}')
    const script = folder.file('agent.sh')
    await Bun.write(script, `exec busybox httpd -f -p "127.0.0.1:$PORT" -h '${folder.path}'`)
    const basePort = await findAgentPorts()
    await using server = await startServer({ AGENTS_BASE_PORT: `${basePort}` }, [BUSYBOX ?? '', 'sh', script])
    await provisionAmong(server, { basePort, agents: AGENTS, taken: AGENTS / 2 })
  }, 300_000)
})

const engine = await findEngine()
describe.skipIf(engine === null)('used ports of containers', () => {
  test('each of 4 concurrent agents gets its own port when 2 ports are used', async () => {
    if (!engine) return
    const basePort = await findAgentPorts()
    const settings = { AGENT_RUNTIME: 'docker', DOCKER_HOST: engine.dockerHost, AGENT_IMAGE: engine.image }
    await using server = await startServer({ ...settings, AGENTS_BASE_PORT: `${basePort}` })
    const person = await provisionAmong(server, { basePort, agents: 4, taken: 2 })
    await deleteAll(person)
    const instance = (await Bun.file(`${server.dataDir}/instance.id`).text()).trim()
    const filters = { label: [`stead.instance=${instance}`] }
    await until(
      'every container is gone',
      async () => (await engine.docker.listContainers({ all: true, filters })).length === 0,
    )
    await until('every volume is gone', async () => (await engine.docker.listVolumes({ filters })).Volumes.length === 0)
    for (const { Id } of await engine.docker.listNetworks({ filters })) await engine.docker.getNetwork(Id).remove()
  }, 300_000)
})

type Crowd = { basePort: number; agents: number; taken: number }

async function provisionAmong(server: TestServer, { basePort, agents, taken }: Crowd): Promise<Person> {
  const squatters = await holdPorts(basePort, taken)
  try {
    const person = await signUp(server.urls.web)
    const names = Array.from({ length: agents }, (_, index) => `Agent ${index}`)
    await Promise.all(names.map((name) => read(ProvisionResponse, person.post('/api/agents/provision', { name }))))
    const settled = await until('every agent runs', () => {
      const rows = readRows(server.dataDir)
      return rows.length === agents && rows.every(({ status }) => status === 'running') ? rows : null
    })
    const ports = settled.map(({ port }) => port)
    expect(new Set(ports).size).toBe(agents)
    for (const port of ports) expect(port).toBeGreaterThanOrEqual(basePort + taken)
    const answers = await Promise.all(ports.map((port) => fetch(`http://127.0.0.1:${port}/healthz`)))
    expect(answers.every(({ ok }) => ok)).toBe(true)
    return person
  } finally {
    for (const squatter of squatters) squatter.close()
  }
}

/** Reads the port leases, which no route returns. */
function readRows(dataDir: string) {
  const db = new Database(join(dataDir, 'stead.db'), { readonly: true })
  try {
    return Rows.parse(db.prepare('select status, port from agents').all())
  } finally {
    db.close()
  }
}

async function deleteAll(person: Person): Promise<void> {
  const { agents } = await read(WebAgentList, person.get('/api/agents'))
  for (const { id } of agents) expect((await person.delete(`/api/agents/${id}`)).status).toBe(200)
}

/** Occupies the ports that no other process uses. */
async function holdPorts(first: number, count: number): Promise<Server[]> {
  const held = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const server = createServer()
      const { promise, resolve, reject } = Promise.withResolvers<Server | null>()
      server.once('error', (error) => ('code' in error && error.code === 'EADDRINUSE' ? resolve(null) : reject(error)))
      server.listen(first + index, '127.0.0.1', () => resolve(server))
      return promise
    }),
  )
  return held.filter((server) => server !== null)
}
