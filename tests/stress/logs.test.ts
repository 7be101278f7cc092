import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { agentFolder, findRecord } from '../../src/adapters/runtimes/process/files.ts'
import { LogEvent, LogHistory } from '../../src/features/agents/logs/schemas.ts'
import { createAgent, type Person, signIn, signUp } from '../harness/client.ts'
import { execIn, findEngine } from '../harness/engines/engine.ts'
import { importLiveImages } from '../harness/engines/live-image.ts'
import { read } from '../harness/requests.ts'
import { roundsOf } from '../harness/rounds.ts'
import { findAgentPids, openInstallation, startServer } from '../harness/server.ts'
import { atMostMs } from '../harness/speed/promised-times.ts'
import { until } from '../harness/until.ts'
import { readEvents } from '../harness/wires/events.ts'

const TALKING_AGENT = join(import.meta.dir, '..', 'harness', 'programs', 'talking-agent.ts')
/** Three rounds include each disturbance once. */
const LOG_ROUNDS = roundsOf('LOG_ROUNDS', 3)
/** Pause between requests, so that the flood is the load and not the requests. */
const PAUSE_MS = 5
const COMMAND = [process.execPath, '--no-env-file', TALKING_AGENT] as const

/** Calls the agent directly, retrying while it restarts. */
async function askAgent(dataDir: string, agentId: string, path: string): Promise<void> {
  const record = await findRecord(agentFolder(join(dataDir, 'agents'), agentId))
  await until('an answer of the agent', async () => {
    const response = await fetch(`http://127.0.0.1:${record?.spec.port}${path}`).catch(() => null)
    return response?.ok
  })
}

/** Opens a log viewer that reconnects with the last id after each interruption. */
function openViewer(agentId: string) {
  const texts: string[] = []
  let lastId = ''
  return {
    texts,
    async follow(person: Person, isEnough: () => boolean) {
      const ending = new AbortController()
      const headers = { ...person.cookie, ...(lastId && { 'last-event-id': lastId }) }
      const url = `${person.web}/api/logs/${agentId}/stream`
      try {
        const response = await fetch(url, { headers, signal: ending.signal })
        for await (const { id, data } of readEvents(response)) {
          const event = LogEvent.parse(JSON.parse(data))
          if (id) lastId = id
          if (event.type === 'line' && event.text.startsWith('line ')) texts.push(event.text)
          if (isEnough()) break
        }
      } catch {
        // The platform ended; the next connection continues.
      }
      ending.abort()
    },
  }
}

function numbered(lines: number): string[] {
  return Array.from({ length: lines }, (_, index) => `line ${index + 1}`)
}

test('a log viewer that reconnects repeatedly gets every line once while agents die and restart and the platform is killed', async () => {
  const environment = { AGENT_ISOLATION: 'off', AGENT_PROCESS_COMMAND: COMMAND.map((word) => `"${word}"`).join(' ') }
  await using installation = await openInstallation({ environment })
  let program = await installation.start()
  let person = await signUp(program.urls.web)
  const id = await createAgent(person)
  const viewer = openViewer(id)
  const rounds = LOG_ROUNDS
  const perRound = 40
  for (let round = 1; round <= rounds; round += 1) {
    const enough = (round - 1) * perRound + Math.ceil(perRound * Math.random())
    const following = viewer.follow(person, () => viewer.texts.length >= enough)
    await askAgent(installation.dataDir, id, `/write?lines=${perRound}`)
    await following
    if (round % 3 === 1) process.kill((await installation.agentPids()).get(id) ?? 0, 'SIGKILL')
    if (round % 3 === 2) expect((await person.post(`/api/agents/${id}/restart`, {})).status).toBe(200)
    if (round % 3 === 0) {
      await program.kill()
      await askAgent(installation.dataDir, id, `/write?lines=1`)
      await askAgent(installation.dataDir, id, `/write?lines=1`)
      program = await installation.start()
      person = await signIn(program.urls.web)
    }
  }
  const total = rounds * perRound + 2 * Math.floor(rounds / 3)
  await viewer.follow(person, () => viewer.texts.length >= total)
  expect(viewer.texts).toEqual(numbered(total))
  const history = await read(LogHistory, person.get(`/api/logs/${id}/history?limit=1000&q=line%20`))
  expect(history.lines).toEqual(numbered(total))
}, 300_000)

test('the output of an agent is stored to its end, without secrets, and kept by a new deployment', async () => {
  await using server = await startServer({}, COMMAND)
  const person = await signUp(server.urls.web)
  const id = await createAgent(person)
  const { secrets } = agentFolder(join(server.dataDir, 'agents'), id)
  const [gatewayToken, platformToken] = await Promise.all(
    ['GATEWAY_TOKEN', 'PLATFORM_TOKEN'].map((name) => Bun.file(join(secrets, name)).text()),
  )
  const say = (text: string) => askAgent(server.dataDir, id, `/say?text=${encodeURIComponent(text)}`)
  await say(`my token is ${gatewayToken}, the other ${platformToken}`)
  await askAgent(server.dataDir, id, '/say?text=a+long+one&times=1200')
  const history = () => read(LogHistory, person.get(`/api/logs/${id}/history`))
  await until('both lines', async () => (await history()).lines.length === 2)
  const [first, second] = (await history()).lines
  expect(first).toBe('my token is [redacted], the other [redacted]')
  expect(second?.length).toBeLessThan(8300)
  expect(second).toEndWith(' characters more]')
  const ended = watchFor(person, id, ({ type }) => type === 'exit')
  await fetch(
    `http://127.0.0.1:${(await findRecord(agentFolder(join(server.dataDir, 'agents'), id)))?.spec.port}/die?code=7`,
  ).catch(() => null)
  expect(await ended).toEqual({ type: 'exit', code: 7 })
  expect((await person.post(`/api/agents/${id}/restart`, {})).status).toBe(200)
  await say('after the restart')
  await until('the line after it', async () => (await history()).lines.length === 3)
  const stopped = watchFor(person, id, (event) => event.type === 'exit' && event.code !== 7)
  expect((await person.post(`/api/agents/${id}/stop`, {})).status).toBe(200)
  expect(await stopped).toMatchObject({ type: 'exit' })
  expect((await history()).lines).toHaveLength(3)
}, 300_000)

async function watchFor(person: Person, id: string, isIt: (event: LogEvent) => boolean): Promise<LogEvent | null> {
  for await (const { data } of readEvents(await person.get(`/api/logs/${id}/stream`))) {
    const event = LogEvent.parse(JSON.parse(data))
    if (isIt(event)) return event
  }
  return null
}

test('a log flood is limited and reported, the platform responds meanwhile, and later lines arrive', async () => {
  await using server = await startServer({}, COMMAND)
  const person = await signUp(server.urls.web)
  const id = await createAgent(person)
  const calm = await measure(person, 500)
  const flooding = askAgent(server.dataDir, id, '/flood?lines=200000')
  const flooded = await measure(person, 1500)
  await flooding
  await askAgent(server.dataDir, id, '/say?text=afterwards')
  const history = () => read(LogHistory, person.get(`/api/logs/${id}/history?limit=1000`))
  await until('the line after the flood', async () => (await history()).lines.includes('afterwards'))
  const found = await read(LogHistory, person.get(`/api/logs/${id}/history?q=dropped:`))
  expect(found.entries?.[0]).toMatchObject({ stream: 'platform', text: expect.stringMatching(/^\[\d+ lines dropped/) })
  expect(flooded.p99).toBeLessThan(Math.max(atMostMs(100), calm.p99 * 5))
  expect((await findAgentPids(server.dataDir)).has(id)).toBe(true)
}, 300_000)

/** Measures response times of sequential calls with a pause in between. */
async function measure(person: Person, forMs: number) {
  const times: number[] = []
  for (const until = performance.now() + forMs; performance.now() < until; ) {
    const startedAt = performance.now()
    await (await person.get('/api/auth/session')).text()
    times.push(performance.now() - startedAt)
    await Bun.sleep(PAUSE_MS)
  }
  times.sort((a, b) => a - b)
  const at = (share: number) => Math.round((times[Math.floor(times.length * share)] ?? 0) * 100) / 100
  return { calls: times.length, p50: at(0.5), p99: at(0.99), max: at(0.9999) }
}

const engine = await findEngine()

test.skipIf(!engine)(
  'agents in containers: every line is stored once over a crash, a new container and a killed platform',
  async () => {
    if (!engine) return
    const images = await importLiveImages(engine.docker)
    const environment = { AGENT_RUNTIME: 'docker', DOCKER_HOST: engine.dockerHost, AGENT_IMAGE: images.good }
    await using installation = await openInstallation({ environment })
    let program = await installation.start()
    let person = await signUp(program.urls.web)
    const id = await createAgent(person)
    const viewer = openViewer(id)
    let written = 0
    const writeLines = async (lines: number) => {
      const container = await findContainer(id)
      const script = Array.from({ length: lines }, (_, index) => `echo line ${written + index + 1}`).join('; ')
      const { exitCode } = await execIn(engine.docker, container, ['sh', '-c', `(${script}) > /proc/1/fd/1`])
      expect(exitCode).toBe(0)
      written += lines
    }
    const see = (lines: number) => viewer.follow(person, () => viewer.texts.length >= lines)
    try {
      for (const disturb of [
        async () => void (await engine.docker.getContainer(await findContainer(id)).kill({ signal: 'SIGKILL' })),
        async () => {
          const before = await findContainer(id)
          expect((await person.post(`/api/agents/${id}/update`, { image: images.better })).status).toBe(200)
          expect(await findContainer(id)).not.toBe(before)
        },
        async () => {
          await program.kill()
          await writeLines(5)
          program = await installation.start()
          person = await signIn(program.urls.web)
        },
        async () => void (await person.post(`/api/agents/${id}/restart`, {})),
      ]) {
        await writeLines(20)
        await see(written - 7)
        const before = written
        await disturb()
        await until('a running container', async () => isRunning(id))
        await see(before)
      }
      await writeLines(3)
      await see(written)
      expect(viewer.texts).toEqual(numbered(written))
      const history = await read(LogHistory, person.get(`/api/logs/${id}/history?limit=1000&q=line%20`))
      expect(history.lines).toEqual(numbered(written))
    } finally {
      await person.delete(`/api/agents/${id}`)
      await until('the removal of the container', async () => (await listContainers(id)).length === 0)
    }
  },
  300_000,
)

async function listContainers(agentId: string) {
  return (await engine?.docker.listContainers({ all: true, filters: { label: [`stead.agent=${agentId}`] } })) ?? []
}

async function findContainer(agentId: string): Promise<string> {
  return until(
    'its container',
    async () => (await listContainers(agentId)).find(({ State }) => State === 'running')?.Id,
  )
}

async function isRunning(agentId: string): Promise<boolean> {
  return (await listContainers(agentId)).some(({ State }) => State === 'running')
}
