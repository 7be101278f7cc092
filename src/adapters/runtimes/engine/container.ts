import { createHmac } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import type Docker from 'dockerode'
import { pack } from 'tar-stream'
import { type AgentDriver, type AgentImage, type AgentInputs, SECRETS_DIR } from '../contract/agent-image.ts'
import type { AgentSpec } from '../contract/runtime.ts'
import { type Engine, LABELS } from './engine.ts'

const SECOND_NS = 1_000_000_000

/** Slightly more than the agent needs to finish its turns. */
export const STOP_SECONDS = 30

/** Restart policies: a wanted agent is restarted by its engine, a stopped one is not. */
export const WANTED = { Name: 'unless-stopped' } as const
export const UNWANTED = { Name: 'no' } as const
/** Wanted, but restarted at most once: the agent cannot run. */
export const GIVEN_UP = { Name: 'on-failure', MaximumRetryCount: 1 } as const

/**
 * Restrictions of every agent's container, which no user setting changes. All agents share one user, so an `nproc`
 * limit would count them together; `PidsLimit` counts each.
 */
export const PROFILE = {
  Privileged: false,
  CapDrop: ['ALL'],
  CapAdd: [],
  SecurityOpt: ['no-new-privileges:true'],
  ReadonlyRootfs: true,
  Init: true,
  IpcMode: 'private',
  PidMode: '',
  UTSMode: '',
  UsernsMode: '',
  Devices: [],
  Binds: [],
  ExtraHosts: [],
  PublishAllPorts: false,
  OomKillDisable: false,
  Ulimits: [
    { Name: 'nofile', Soft: 8192, Hard: 8192 },
    { Name: 'core', Soft: 0, Hard: 0 },
  ],
  // Nothing answers there: a resolver that forwards names would carry data out in them.
  Dns: ['127.0.0.1'],
  DnsSearch: ['.'],
  DnsOptions: ['timeout:1', 'attempts:1'],
  LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } },
} satisfies Docker.HostConfig

/**
 * Disables the engine's own health check, which starts a process in the container each time and costs far more than an
 * idle agent. The platform asks `/healthz` over the agent's port instead.
 */
export const NO_HEALTHCHECK = {
  Test: ['NONE'],
  Interval: 30 * SECOND_NS,
  Timeout: 5 * SECOND_NS,
  StartPeriod: 20 * SECOND_NS,
  Retries: 5,
} satisfies Docker.HealthConfig

/**
 * Inputs of a container. `network` and `volume` belong to this installation, `maxCpus` is the host's number of cores.
 */
type ContainerPlan = {
  name: string
  instance: string
  spec: AgentSpec
  image: AgentImage
  driver: AgentDriver
  inputs: AgentInputs
  digest: string
  network: string
  volume: string
  maxCpus: number
}

/**
 * Builds the container settings of an agent, without secrets, which would be visible to everyone who may inspect
 * containers.
 */
export function toContainer(plan: ContainerPlan): Docker.ContainerCreateOptions {
  const { spec, driver } = plan
  return {
    name: plan.name,
    Image: plan.image.id,
    User: driver.user,
    Env: Object.entries(plan.inputs.environment).map(([name, value]) => `${name}=${value}`),
    ...(driver.entrypoint && { Entrypoint: [...driver.entrypoint], Cmd: [] }),
    Labels: toLabels(plan),
    Healthcheck: NO_HEALTHCHECK,
    StopTimeout: STOP_SECONDS,
    HostConfig: {
      ...PROFILE,
      NetworkMode: plan.network,
      Memory: spec.limits.memoryBytes,
      MemorySwap: spec.limits.memoryBytes,
      NanoCpus: Math.round(Math.min(spec.limits.cpus, plan.maxCpus) * SECOND_NS),
      PidsLimit: spec.limits.processes,
      Tmpfs: { ...driver.tmpfs },
      PortBindings: {},
      RestartPolicy: WANTED,
      Mounts: [
        { Type: 'volume', Source: plan.volume, Target: driver.stateDir, VolumeOptions: toVolumeOptions(plan) },
        // An anonymous volume is removed with its container; the labels identify volumes that were not.
        {
          Type: 'volume',
          Source: '',
          Target: SECRETS_DIR,
          VolumeOptions: toVolumeOptions(plan, { [LABELS.secrets]: '' }),
        },
      ],
    },
  }
}

/**
 * Returns a hash that identifies a deployment. It is keyed, because a plain hash of a short secret could be guessed.
 */
export function toDigest(key: string, spec: AgentSpec): string {
  const parts = {
    ...spec,
    environment: sorted(spec.environment),
    secrets: sorted(spec.secrets),
    PROFILE,
    HEALTH: NO_HEALTHCHECK,
  }
  return createHmac('sha256', key).update(JSON.stringify(parts)).digest('hex')
}

/** Returns the names of the current container, of its successor, and of its predecessor during a replacement. */
export function toNames(instance: string, agentId: string): { current: string; next: string; previous: string } {
  // Agents' ids contain no dot.
  const current = `stead-${instance}-${agentId}`
  return { current, next: `${current}.next`, previous: `${current}.previous` }
}

/** Returns the labels that identify an agent and its deployment. */
export function toLabels({
  instance,
  spec,
  image,
  digest,
}: Pick<ContainerPlan, 'instance' | 'spec' | 'image' | 'digest'>): Record<string, string> {
  return {
    [LABELS.instance]: instance,
    [LABELS.agent]: spec.id,
    [LABELS.kind]: image.kind,
    [LABELS.version]: image.version ?? '',
    [LABELS.image]: image.reference,
    [LABELS.port]: String(spec.port),
    [LABELS.digest]: digest,
  }
}

/** Labels a volume, so that it is found without its container. */
function toVolumeOptions(
  { instance, spec }: ContainerPlan,
  labels: Record<string, string> = {},
): Docker.MountSettings['VolumeOptions'] {
  const Labels = { [LABELS.instance]: instance, [LABELS.agent]: spec.id, ...labels }
  return { NoCopy: false, Labels, DriverConfig: { Name: 'local', Options: {} } }
}

function sorted(record: Record<string, string>): [string, string][] {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))
}

const MAX_SECRETS_BYTES = 1024 * 1024

/** Writes the secrets into the container's own folder, readable by its user only. Works on a stopped container. */
export async function putSecrets(
  engine: Engine,
  containerId: string,
  driver: AgentDriver,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  const archive = await toTar(driver, files, 0o400)
  await engine.change((docker, abortSignal) =>
    docker.getContainer(containerId).putArchive(archive, { path: SECRETS_DIR, abortSignal }),
  )
}

/** Copies the secrets to a twin. @throws Error above a megabyte: an image may let its agent write there. */
export async function copySecrets(engine: Pick<Engine, 'change'>, from: string, to: string): Promise<void> {
  await engine.change(async (docker, abortSignal) => {
    const archive = await docker.getContainer(from).getArchive({ path: `${SECRETS_DIR}/.`, abortSignal })
    await docker
      .getContainer(to)
      .putArchive(await readAtMost(archive, MAX_SECRETS_BYTES), { path: SECRETS_DIR, abortSignal })
  })
}

/** Makes the agent repair its state at its next start, if it can. */
export async function requestRepair(engine: Engine, containerId: string, driver: AgentDriver): Promise<void> {
  if (driver.repairFile === null) return
  const archive = await toTar(driver, { [driver.repairFile]: '' }, 0o600)
  await engine.change((docker, abortSignal) =>
    docker.getContainer(containerId).putArchive(archive, { path: driver.stateDir, abortSignal }),
  )
}

/** Writes the content of `stateDir` of a stopped container to `file`, a gzipped tar of mode 0600, atomically. */
export async function readState(engine: Engine, containerId: string, stateDir: string, file: string): Promise<void> {
  const part = `${file}.part`
  await rm(part, { force: true })
  try {
    await engine.change(async (docker, abortSignal) => {
      const archive = await docker.getContainer(containerId).getArchive({ path: `${stateDir}/.`, abortSignal })
      await pipeline(archive, createGzip(), createWriteStream(part, { mode: 0o600 }))
    })
    await flush(part)
    await rename(part, file)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

/** Unpacks `file` into `stateDir` of a container that was never started. */
export async function writeState(engine: Engine, containerId: string, stateDir: string, file: string): Promise<void> {
  await engine.change(async (docker, abortSignal) => {
    const archive = createReadStream(file).pipe(createGunzip())
    await docker.getContainer(containerId).putArchive(archive, { path: stateDir, abortSignal })
  })
}

async function toTar(driver: AgentDriver, files: Readonly<Record<string, string>>, mode: number): Promise<Buffer> {
  const [uid = 0, gid = 0] = driver.user.split(':').map(Number)
  const archive = pack()
  for (const [name, content] of Object.entries(files)) archive.entry({ name, uid, gid, mode }, content)
  archive.finalize()
  return buffer(Readable.from(archive))
}

async function flush(path: string): Promise<void> {
  const file = await open(path, 'r')
  await file.sync().finally(() => file.close())
}

async function readAtMost(stream: NodeJS.ReadableStream, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    const piece = Buffer.from(chunk)
    bytes += piece.length
    if (bytes > maxBytes) throw new Error(`The secrets of the agent have more than ${maxBytes} bytes`)
    chunks.push(piece)
  }
  return Buffer.concat(chunks)
}
