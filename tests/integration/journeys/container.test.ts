import { afterAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type Docker from 'dockerode'
import { createAgent, PASSWORD, type Person, signIn } from '../../harness/client.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { buildAgentImage } from '../../harness/engines/built-image.ts'
import { execIn, findEngine, removeAll } from '../../harness/engines/engine.ts'
import { buildPlatformImage, findExecutable } from '../../harness/engines/platform-image.ts'
import { isAllowed, readEngineRules, startSocketProxy } from '../../harness/engines/socket-proxy.ts'
import { findAgentPorts, findFreePorts } from '../../harness/ports.ts'
import { openMemoryClient } from '../../harness/remembering.ts'
import { json } from '../../harness/requests.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { until } from '../../harness/until.ts'
import { withProvider } from './main-job.ts'

const LIMIT_MS = 600_000
const EMAIL = 'ada@example.com'
const MODEL = 'openai/gpt-4o-mini'
const scripts = join(import.meta.dir, '../..', '..', 'scripts')

const executable = findExecutable()
const engine = executable === null ? null : await findEngine()
if (!engine)
  console.warn('The image of the platform is not tested: that takes an engine and the executable (bun run build).')

let built: Promise<string> | undefined
/** Deletes the image: it has 190 MB, on some engines in each layer. */
afterAll(async () => {
  if (engine && built) await engine.docker.getImage(await built).remove({ force: true })
})

/** Reads the rules of `scripts/compose.yaml` for the socket proxy. */
function readComposedRules() {
  const composed = Bun.YAML.parse(readFileSync(join(scripts, 'compose.yaml'), 'utf8'))
  const { services } = composed as { services: { engine: { command: string[] } } }
  return readEngineRules(services.engine.command)
}

test('compose.yaml: the proxy refuses engine calls that could take over the host', () => {
  const rules = readComposedRules()
  const isLet = (line: string) => {
    const [method = '', path = ''] = line.split(' ')
    return isAllowed(rules, method, path)
  }
  const refused = [
    ...['POST /containers/abc/exec', 'POST /exec/abc/start', 'POST /build', 'POST /swarm/init', 'POST /commit'],
    ...[
      'POST /containers/prune',
      'POST /plugins/pull',
      'GET /secrets',
      'GET /containers/abc/export',
      'DELETE /images/abc',
    ],
  ]
  expect(refused.filter(isLet)).toEqual([])
  expect(['GET /containers/json', 'POST /containers/create', 'POST /containers/abc/attach'].filter(isLet)).toHaveLength(
    3,
  )
})

test.skipIf(!engine)(
  'the image: shows the first-run page, is not root and read-only; process agents return when the container is replaced',
  async () => {
    if (!engine || !executable) return
    await using provider = await startProvider()
    await using place = await openPlace(engine.docker, executable, withProvider(provider))
    const { web, token } = await place.start()
    expect(await (await fetch(`${web}/api/setup`)).json()).toEqual({ isNeeded: true })
    expect((await fetch(web)).headers.get('content-type')).toStartWith('text/html')
    expect((await place.run('id')).output).toContain('uid=10001')
    expect((await place.run('touch /stain')).exitCode).not.toBe(0)
    expect((await place.run(await place.healthcheck())).exitCode).toBe(0)
    expect((await place.run(`WEB_PORT=1 && export WEB_PORT && ${await place.healthcheck()}`)).exitCode).toBe(1)

    const owner = await setUp(web, token)
    const agentId = await createAgent(owner, { model: MODEL })
    const ada = openMemoryClient(owner, provider, agentId)
    await ada.use('remember', { fact: 'The cat is called Bo', name: 'pets' })
    await place.makeAnew()
    const again = openMemoryClient(await signIn(web, EMAIL), provider, agentId)
    await until('the agent answers again', () => again.prompt().catch(() => null))
    expect(await again.prompt()).toContain('Bo')
  },
  LIMIT_MS,
)

test.skipIf(!engine)(
  'the image with the proxy of compose.yaml: agents run while the container is replaced, and keep their memory',
  async () => {
    if (!engine || !executable) return
    await using provider = await startProvider()
    using folder = tempFolder()
    chmodSync(folder.path, 0o755)
    const socket = engine.dockerHost.replace(/^unix:\/\//, '')
    using proxy = await startSocketProxy(socket, folder.file('docker.sock'), readComposedRules())
    const image = await buildAgentImage(engine.dockerHost)
    const environment = {
      ...withProvider(provider),
      AGENT_RUNTIME: 'docker',
      AGENT_IMAGE: image,
      DOCKER_HOST: 'unix:///run/engine/docker.sock',
    }
    await using place = await openPlace(engine.docker, executable, environment, [`${folder.path}:/run/engine`])
    const { web, token } = await place.start()
    const owner = await setUp(web, token)
    const agentId = await createAgent(owner, { model: MODEL })
    const ada = openMemoryClient(owner, provider, agentId)
    await ada.use('remember', { fact: 'The cat is called Bo', name: 'pets' })
    const before = await place.agents()
    expect(before).toHaveLength(1)
    await place.makeAnew()
    const again = openMemoryClient(await signIn(web, EMAIL), provider, agentId)
    expect(await again.prompt()).toContain('Bo')
    expect(await place.agents()).toEqual(before)
    expect((await owner.post(`/api/agents/${agentId}/restart`, {})).status).toBe(200)
    expect(await again.prompt()).toContain('Bo')
    expect((await owner.delete(`/api/agents/${agentId}`)).status).toBe(200)
    await until('the container is gone', async () => (await place.agents()).length === 0)
    expect(proxy.refused).toEqual([])
  },
  LIMIT_MS,
)

async function setUp(web: string, token: string): Promise<Person> {
  const made = await fetch(`${web}/api/setup`, json('POST', { token, email: EMAIL, password: PASSWORD }))
  expect(made.status).toBe(200)
  return signIn(web, EMAIL)
}

/**
 * Creates a volume and the platform's container on it, which can be recreated. Disposing it removes both and all
 * agents.
 */
async function openPlace(
  docker: Docker,
  executable: string,
  environment: Record<string, string>,
  binds: string[] = [],
) {
  built ??= buildPlatformImage(docker, executable)
  const Image = await built
  const name = `stead-test-platform-${randomBytes(5).toString('hex')}`
  const [web = 0, backend = 0, summarizer = 0] = await findFreePorts(3)
  const settings = {
    HOST: '127.0.0.1',
    WEB_PORT: web,
    BACKEND_PORT: backend,
    SUMMARIZER_PORT: summarizer,
    AGENTS_BASE_PORT: await findAgentPorts(),
    ...environment,
  }
  const url = `http://127.0.0.1:${web}`
  const logs = async () => String(await docker.getContainer(name).logs({ stdout: true, stderr: true }))
  const launch = async () => {
    const container = await docker.createContainer({
      name,
      Image,
      Env: Object.entries(settings).map(([key, value]) => `${key}=${value}`),
      HostConfig: {
        NetworkMode: 'host',
        ReadonlyRootfs: true,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges'],
        Binds: [`${name}:/data`, ...binds],
      },
    })
    await container.start()
    await until('the platform is ready', async () => {
      if (!(await container.inspect()).State.Running) throw new Error(await logs())
      return (await fetch(`${url}/readyz`).catch(() => null))?.ok
    })
  }
  const run = (script: string) => execIn(docker, name, ['/bin/sh', '-c', script])
  const instance = async () => (await run('cat /data/instance.id')).output.trim()
  return {
    run,
    async start() {
      await launch()
      const token = await until('the setup link', async () => (await logs()).match(/token=([\w-]+)/)?.[1])
      return { web: url, token }
    },
    async makeAnew() {
      await docker.getContainer(name).remove({ force: true })
      await launch()
    },
    async healthcheck() {
      const { Config } = await docker.getContainer(name).inspect()
      return Config.Healthcheck?.Test?.[1] ?? 'false'
    },
    async agents() {
      const filters = { label: [`stead.instance=${await instance()}`] }
      return (await docker.listContainers({ all: true, filters })).map(({ Id }) => Id)
    },
    async [Symbol.asyncDispose]() {
      const id = await instance().catch(() => null)
      await docker.getContainer(name).remove({ force: true })
      if (id) await removeAll(docker, id)
      await docker.getVolume(name).remove()
    },
  }
}
