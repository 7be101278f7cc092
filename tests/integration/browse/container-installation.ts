import { mkdirSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { join } from 'node:path'
import { z } from 'zod'
import { createDockerRuntime } from '../../../src/adapters/runtimes/docker/docker.ts'
import { createEngine } from '../../../src/adapters/runtimes/engine/engine.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { randomText } from '../../../src/core/ids.ts'
import { createLog } from '../../../src/core/log.ts'
import { write } from '../../../src/db/write.ts'
import { insertAgent } from '../../../src/features/agents/registry/agents.ts'
import { agents } from '../../../src/features/agents/registry/tables.ts'
import { removeAll, type TestEngine } from '../../harness/engines/engine.ts'
import { testPlatform } from '../../harness/platform.ts'
import { findFreePorts } from '../../harness/ports.ts'
import { json } from '../../harness/requests.ts'
import { until } from '../../harness/until.ts'

/** The user id of the test agent in its container. */
export const AGENT_UID = 10_001

/** Opens the same engine over TCP, where the volume folders are unknown. */
export async function openProxy(dockerHost: string) {
  const path = dockerHost.replace(/^unix:\/\//, '')
  const server = createServer((socket) => {
    const engine = createConnection(path)
    socket.pipe(engine).pipe(socket)
    for (const [one, other] of [
      [socket, engine],
      [engine, socket],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    dockerHost: `tcp://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    [Symbol.asyncDispose]: async () => void server.close(),
  }
}

/**
 * Creates Ada's agent in a container, and a platform that uses the engine at `dockerHost`. `folder` is the workspace on
 * disk.
 */
export async function openContainerInstallation(
  found: TestEngine,
  options: { dockerHost?: string; filesImages?: readonly string[]; logLines?: string[] } = {},
) {
  const { docker } = found
  const instance = randomText(12).toLowerCase()
  const runtime = createDockerRuntime({
    engine: createEngine(options.dockerHost ?? found.dockerHost),
    instance,
    digestKey: 'key',
    clock: systemClock,
    log: createLog('silent'),
    ...(options.filesImages && { filesImages: options.filesImages }),
  })
  const installation = testPlatform({
    runtime,
    environment: { SUMMARIZER_ALLOW_PRIVATE: 'true' },
    ...(options.logLines && { logLines: options.logLines }),
  })
  const { platform } = installation
  const ada = await installation.signIn()
  const [port = 0] = await findFreePorts(1)
  const id = `ada-${randomText(8).toLowerCase()}`
  await write(platform.db, (tx) => {
    const row = { id, ownerId: ada.user.id, name: 'Ada', model: 'm', plan: 'solo', aiProvider: 'openrouter' }
    insertAgent(platform, tx, { ...row, status: 'running' })
    tx.update(agents).set({ port, runtime: 'docker' }).run()
  })
  await runtime.deploy({
    id,
    image: found.image,
    port,
    environment: { AGENT_ID: id },
    secrets: { GATEWAY_TOKEN: 'gw_secret' },
    limits: { memoryBytes: 64 * 1024 ** 2, cpus: 1, processes: 32 },
  })
  const name = `stead-${instance}-${id}`
  const [volume] = (await docker.getContainer(name).inspect()).Mounts.filter(
    ({ Destination }) => Destination === '/data',
  )
  const state = volume?.Source ?? ''
  const folder = join(state, 'workspace')
  mkdirSync(folder)
  giveToAgent(folder)
  const call = async (path: string, init: RequestInit = {}) => {
    const separator = path.includes('?') ? '&' : '?'
    const headers = { ...ada.cookie, ...(init.headers as Record<string, string> | undefined) }
    const response = await installation.web.request(`/api/browse/${path}${separator}agentId=${id}`, {
      ...init,
      headers,
    })
    return { status: response.status, body: z.record(z.string(), z.unknown()).parse(await response.json()) }
  }
  /** Returns the number of containers that serve the agent's files. */
  const countServers = async () => {
    const filters = { label: [`stead.instance=${instance}`, 'stead.files'] }
    return (await docker.listContainers({ all: true, filters })).length
  }
  return {
    ...installation,
    ada,
    id,
    name,
    instance,
    runtime,
    state,
    folder,
    get: (path: string) => call(path),
    post: (path: string, body: unknown) => call(path, json('POST', body)),
    put: (path: string, body: unknown) => call(path, json('PUT', body)),
    delete: (path: string) => call(path, { method: 'DELETE' }),
    request: (path: string, init: RequestInit = {}) =>
      installation.web.request(`/api/browse/${path}&agentId=${id}`, {
        ...init,
        headers: { ...ada.cookie, ...init.headers },
      }),
    countServers,
    async [Symbol.asyncDispose]() {
      await platform.workspaceLinks.close()
      await until('the end of all file servers', async () => (await countServers()) === 0)
      await runtime.close()
      await removeAll(docker, instance)
    },
  }
}

/** Makes the agent the owner of everything below `path`. */
export function giveToAgent(path: string): void {
  if (!Bun.spawnSync(['chown', '-hR', `${AGENT_UID}:${AGENT_UID}`, path]).success)
    throw new Error(`Cannot give ${path}`)
}
