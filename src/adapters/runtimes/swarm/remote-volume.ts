import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { randomText } from '../../../core/ids.ts'
import { sha256 } from '../../../core/secrets.ts'
import { LABELS } from '../engine/engine.ts'
import { findFilesImage } from '../engine/files.ts'
import { hasTaskEnded, isUsable, type SwarmService, type SwarmTask, Tasks } from './answers.ts'
import { listNodes, look, type SwarmRuntimeParts, toHost, toServiceName } from './cluster.ts'
import { type OneTaskService, removeService, toOneTaskService } from './one-task.ts'
import { driverOfService, toVolumeOptions } from './spec.ts'
import { requireWholeArchive, STATE_OWNER, STATE_PORT, STATE_TOKEN_HASH } from './state-server.ts'

/** A volume of an agent on a node other than that of our engine. */
type RemoteVolume = { service: SwarmService; name: string; nodeId: string }

const SERVED_AT = '/data'
const LOOK_AGAIN_MS = 200
const START_MS = 60_000
const READY_MS = 2000
/** An agent that writes while its files are read makes an archive fail; the next attempt usually succeeds. */
const TRIES = 5
/** Transfers slower than this fail. */
const TRANSFER_MS = 1_800_000

/** Writes the content of a volume to `file`. The agent may run. @throws AppError `unavailable`. */
export async function fetchVolume(deps: SwarmRuntimeParts, volume: RemoteVolume, file: string): Promise<void> {
  await withStateServer(deps, volume, async (ask) => {
    for (let tries = 1; ; tries++) {
      try {
        return await fetchOnce(ask, file)
      } catch (error) {
        await rm(`${file}.part`, { force: true })
        if (tries === TRIES)
          throw unavailable(`What the agent has stored cannot be read: ${errorMessage(error)}`, error)
      }
    }
  })
}

/** Creates a volume from `file`. @throws AppError `unavailable`. */
export async function sendVolume(deps: SwarmRuntimeParts, volume: RemoteVolume, file: string): Promise<void> {
  await withStateServer(deps, volume, async (ask) => {
    const response = await ask('', { method: 'PUT', body: Bun.file(file), signal: AbortSignal.timeout(TRANSFER_MS) })
    if (!response.ok) throw unavailable(`The agent's files were not taken: ${response.status} ${await response.text()}`)
  })
}

type Ask = (path: string, init: RequestInit) => Promise<Response>

async function fetchOnce(ask: Ask, file: string): Promise<void> {
  const part = `${file}.part`
  const response = await ask('', { signal: AbortSignal.timeout(TRANSFER_MS) })
  if (!response.ok || !response.body) throw new Error(`${response.status} ${await response.text()}`)
  await pipeline(Readable.from(response.body), createWriteStream(part, { mode: 0o600 }))
  await requireWholeArchive(part)
  await rename(part, file)
}

/** Runs a server of the volume on its node, which only that node's engine can mount. */
async function withStateServer(
  deps: SwarmRuntimeParts,
  volume: RemoteVolume,
  work: (ask: Ask) => Promise<void>,
): Promise<void> {
  const token = randomText(43)
  await requireUsable(deps, volume.nodeId)
  const server = await toStateServer(deps, volume, sha256(token))
  await removeService(deps, server.Name)
  await deps.engine.change((docker) => docker.createService(server))
  try {
    const url = await untilServed(deps, server.Name, volume.nodeId)
    const headers = { authorization: `Bearer ${token}` }
    const ask: Ask = (path, init) => fetch(`${url}/${path}`, { ...init, headers })
    await untilReady(ask)
    await work(ask)
  } finally {
    await removeService(deps, server.Name)
  }
}

/** The server owns every file, so it needs the capabilities that root has for files, and nothing else. */
async function toStateServer(
  deps: SwarmRuntimeParts,
  { service, name: volume, nodeId }: RemoteVolume,
  tokenHash: string,
): Promise<OneTaskService> {
  const agentId = service.Spec.Labels[LABELS.agent] ?? ''
  const image = await findFilesImage(deps)
  if (image === null) {
    const text = `Files of agents on other machines need the image ${deps.filesImages.at(-1)}: stead agent-image makes it`
    throw new AppError('unavailable', text, { code: 'NOT_CONFIGURED' })
  }
  return toOneTaskService(deps, {
    purpose: 'state',
    agentId,
    image,
    command: ['--state', SERVED_AT],
    env: [`${STATE_OWNER}=${driverOfService(deps, service).user}`, `${STATE_TOKEN_HASH}=${tokenHash}`],
    user: '0:0',
    capabilities: ['CAP_CHOWN', 'CAP_DAC_OVERRIDE', 'CAP_FOWNER'],
    mounts: [
      {
        ...{ Type: 'volume', Source: volume, Target: SERVED_AT },
        VolumeOptions: { ...toVolumeOptions(deps, { agentId, volume }), NoCopy: true },
      },
      { Type: 'tmpfs', Target: '/tmp' },
    ],
    constraints: [`node.id==${nodeId}`],
    network: toServiceName(deps.instance, agentId),
    port: STATE_PORT,
  })
}

async function requireUsable(deps: SwarmRuntimeParts, nodeId: string): Promise<void> {
  const node = (await listNodes(deps)).get(nodeId)
  if (node && isUsable(node)) return
  throw new AppError('unavailable', 'The machine with the files of the agent is away', { code: 'ON_ANOTHER_NODE' })
}

/** Waits for the task and the port that its engine chose. */
async function untilServed(deps: SwarmRuntimeParts, name: string, nodeId: string): Promise<string> {
  const filters = JSON.stringify({ service: [name] })
  for (const deadline = performance.now() + START_MS; performance.now() < deadline; await Bun.sleep(LOOK_AGAIN_MS)) {
    const [tasks, host] = await look(deps, async (docker, self) => [
      Tasks.parse(await docker.listTasks({ filters })),
      toHost(self, await listNodes(deps), nodeId),
    ])
    const ended = tasks.find(hasTaskEnded)
    if (ended) throw unavailable(`The files of the agent cannot be served: ${ended.Status.Err || ended.Status.State}`)
    const port = findPort(tasks)
    if (host !== null && port !== null) return `http://${host}:${port}`
  }
  throw unavailable('The files of the agent are not served in time')
}

function findPort(tasks: readonly SwarmTask[]): number | null {
  const running = tasks.find(({ Status }) => Status.State === 'running')
  return running?.Status.PortStatus?.Ports?.[0]?.PublishedPort || null
}

async function untilReady(ask: Ask): Promise<void> {
  let reason: unknown = null
  for (const deadline = performance.now() + START_MS; performance.now() < deadline; await Bun.sleep(LOOK_AGAIN_MS)) {
    try {
      const response = await ask('ready', { signal: AbortSignal.timeout(READY_MS) })
      if (response.ok) return
      reason = new Error(`status ${response.status}`)
    } catch (error) {
      reason = error
    }
  }
  throw unavailable(`The files of the agent cannot be reached: ${errorMessage(reason)}`, reason)
}

function unavailable(message: string, cause?: unknown): AppError {
  return new AppError('unavailable', message, {}, { cause })
}
