import { afterAll, expect, test } from 'bun:test'
import { Readable } from 'node:stream'
import type Docker from 'dockerode'
import { pack } from 'tar-stream'
import { orNull } from '../../../src/adapters/runtimes/engine/engine.ts'
import { RevisionList } from '../../../src/features/agents/revisions/schemas.ts'
import { AgentWatchdog } from '../../../src/features/agents/watchdog/schemas.ts'
import { createAgent, signUp } from '../../harness/client.ts'
import { startReceiver } from '../../harness/doubles/receivers.ts'
import { findEngine } from '../../harness/engines/engine.ts'
import { json, read } from '../../harness/requests.ts'
import { startServer } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'

const engine = await findEngine()
const live = engine && (await makeLiveImage(engine.docker, engine.image))

afterAll(async () => {
  if (engine && live) await orNull(engine.docker.getImage(live).remove({ force: true }))
})

test.skipIf(!engine)(
  'a killed container is repaired and reported',
  async () => {
    if (!engine || !live) return
    await using webhook = await startReceiver()
    await using server = await startServer({
      AGENT_RUNTIME: 'docker',
      DOCKER_HOST: engine.dockerHost,
      AGENT_IMAGE: live,
      WATCHDOG_CHECK_INTERVAL: '1',
      WATCHDOG_DEGRADED_CHECK_INTERVAL: '0.5',
      WATCHDOG_KILL_WAIT: '0.5',
      WATCHDOG_WEBHOOK_URL: webhook.url,
    })
    const person = await signUp(server.urls.web)
    const agentId = await createAgent(person)
    const watchdog = () => read(AgentWatchdog, person.get(`/api/agents/${agentId}/watchdog`))
    try {
      await until('a healthy agent', async () => (await watchdog()).state === 'running')
      await (await findContainer(engine.docker, agentId)).kill({ signal: 'SIGKILL' })
      const repaired = await until('the repair', async () => {
        const now = await watchdog()
        return now.state === 'running' && now.events.some(({ kind }) => kind === 'repaired') ? now : null
      })
      expect(repaired).toMatchObject({ attempts: 1, crashes: 1, exitCode: 137, lastProbe: { healthy: true } })
      await until('the notifications', () => webhook.taken().length >= 4)
      const kinds = webhook.taken().map((body) => String(JSON.parse(body).type))
      expect(kinds.sort()).toEqual([
        'watchdog.crash',
        'watchdog.degraded',
        'watchdog.repair_started',
        'watchdog.repaired',
      ])
    } finally {
      await person.delete(`/api/agents/${agentId}`)
      await until('the removal of the container', async () => !(await hasContainer(engine.docker, agentId)))
    }
  },
  300_000,
)

/** Serves for two seconds, then exits. */
const SHORT_LIFE = 'httpd -f -p "$PORT" -h /www & sleep 2; exit 5'

test.skipIf(!engine)(
  'a container gets its last healthy configuration back, then its last healthy image',
  async () => {
    if (!engine) return
    const good = await makeLiveImage(
      engine.docker,
      engine.image,
      `if [ "$TEMPLATE" = crashes ]; then ${SHORT_LIFE}; fi`,
    )
    const bad = await makeLiveImage(engine.docker, engine.image, SHORT_LIFE, 'bad')
    await using server = await startServer({
      AGENT_RUNTIME: 'docker',
      DOCKER_HOST: engine.dockerHost,
      AGENT_IMAGE: good,
      WATCHDOG_CHECK_INTERVAL: '1',
      WATCHDOG_DEGRADED_CHECK_INTERVAL: '0.5',
      WATCHDOG_KILL_WAIT: '0.1',
      WATCHDOG_RESTART_WAIT: '20',
      WATCHDOG_HEALTHY_AFTER: '6',
    })
    const person = await signUp(server.urls.web)
    const agentId = await createAgent(person)
    const path = `/api/agents/${agentId}`
    const watchdog = () => read(AgentWatchdog, person.get(`${path}/watchdog`))
    const repairedBy = async (wanted: string) =>
      (await watchdog()).events.filter(({ kind, rung }) => kind === 'repaired' && rung === wanted).length
    const newest = async () => (await read(RevisionList, person.get(`${path}/revisions`))).revisions[0]
    const untilHealthy = () => until('a healthy revision', async () => (await newest())?.healthyAt !== null, 120_000)
    const configure = (config: object) => fetch(`${server.urls.web}${path}/config`, json('PUT', config, person.cookie))
    try {
      await configure({ template: 'works' })
      await until('the change', async () => (await newest())?.changes[0]?.after === 'works')
      await untilHealthy()
      await configure({ template: 'crashes' })
      await until('the configuration', async () => (await repairedBy('configuration')) === 1, 240_000)
      expect(await newest()).toMatchObject({ author: { kind: 'watchdog' }, changes: [{ after: 'works' }] })
      expect((await person.post(`${path}/restart`, {})).status).toBe(200)
      await untilHealthy()

      expect((await person.post(`${path}/update`, { image: bad })).status).toBe(200)
      await until('the image', async () => (await repairedBy('image')) === 1, 240_000)
      expect(await newest()).toMatchObject({
        author: { kind: 'watchdog' },
        image: good,
        changes: [{ field: 'image', before: bad, after: good }],
      })
      const inspected = await (await findContainer(engine.docker, agentId)).inspect()
      expect(inspected.Config.Image).toBe((await engine.docker.getImage(good).inspect()).Id)
    } finally {
      await person.delete(path)
      await until('the removal of the container', async () => !(await hasContainer(engine.docker, agentId)))
      for (const image of [good, bad]) await orNull(engine.docker.getImage(image).remove({ force: true }))
    }
  },
  900_000,
)

/** Builds an image of the test agent with a health endpoint, which runs `be` before it listens. */
async function makeLiveImage(docker: Docker, image: string, be = '', tag = 'good'): Promise<string> {
  const container = await docker.createContainer({ Image: image, Env: [`BE=${be}`] })
  try {
    const archive = pack()
    archive.entry({ name: 'healthz' }, '{"ok":true,"status":"live"}')
    archive.finalize()
    await container.putArchive(Readable.from(archive), { path: '/www' })
    const name = { repo: 'stead-test-watchdog', tag: `t${process.pid}-${tag}-${be.length}` }
    await container.commit(name)
    return `${name.repo}:${name.tag}`
  } finally {
    await container.remove({ force: true, v: true })
  }
}

async function listContainers(docker: Docker, agentId: string) {
  return docker.listContainers({ all: true, filters: { label: [`stead.agent=${agentId}`] } })
}

async function hasContainer(docker: Docker, agentId: string): Promise<boolean> {
  return (await listContainers(docker, agentId)).length > 0
}

async function findContainer(docker: Docker, agentId: string) {
  const [container] = await listContainers(docker, agentId)
  if (!container) throw new Error(`No container of ${agentId}`)
  return docker.getContainer(container.Id)
}
