import { statSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import type Docker from 'dockerode'
import { AppError } from '../../../core/errors.ts'
import { randomText } from '../../../core/ids.ts'
import { VERSION } from '../../../core/version.ts'
import { type AgentDriver, WORKSPACE_FOLDER } from '../contract/agent-image.ts'
import type { AgentFiles, FilesLink } from '../contract/runtime.ts'
import { PROFILE } from './container.ts'
import { type Engine, hasStatus, LABELS, orNull, toEngineError } from './engine.ts'
import { findImage } from './images.ts'

/** `filesImages` may serve files, best first; the first local one of this version is used. */
type EngineFilesDeps = { engine: Engine; instance: string; filesImages: readonly string[] }

/** The volume with an agent's state. */
type StateVolume = { agentId: string; name: string; driver: AgentDriver }

const SERVED_AT = '/data'
export const PROGRAM = '/usr/local/bin/stead'
const MEGABYTE = 1024 ** 2
const LIMITS = { Memory: 1024 * MEGABYTE, MemorySwap: 1024 * MEGABYTE, NanoCpus: 1_000_000_000, PidsLimit: 256 }

/**
 * Opens a volume's files. Root opens the folder itself where it is visible; otherwise a helper container with nothing
 * but the volume serves it: no network, no privileges, and no other files that a link could reach.
 * @throws AppError `unavailable` {code: 'NOT_CONFIGURED'} when the engine has no such volume.
 */
export async function openVolumeFiles(deps: EngineFilesDeps, volume: StateVolume): Promise<AgentFiles> {
  const found = await deps.engine.ask((docker) => orNull(docker.getVolume(volume.name).inspect()))
  if (!found) throw noFiles()
  const isMine = deps.engine.isLocal && process.getuid?.() === 0 && isFolderHere(found)
  return isMine
    ? { root: { base: found.Mountpoint, below: [WORKSPACE_FOLDER] } }
    : { connect: () => connectTo(deps, volume) }
}

/** Removes helper containers of an agent, which hold its volume. */
export async function endFilesContainers(
  { engine, instance }: Pick<EngineFilesDeps, 'engine' | 'instance'>,
  agentId: string,
): Promise<void> {
  const filters = { label: [`${LABELS.instance}=${instance}`, `${LABELS.files}=${agentId}`] }
  const found = await engine.ask((docker, abortSignal) => docker.listContainers({ all: true, filters, abortSignal }))
  for (const { Id } of found) await removeContainer(engine, Id)
}

/** Returns whether the engine keeps a volume in a folder that is visible here. */
function isFolderHere({ Driver, Options, Mountpoint }: Docker.VolumeInspectInfo): boolean {
  const isFolder = Driver === 'local' && Object.keys(Options ?? {}).length === 0
  return isFolder && (statSync(Mountpoint, { throwIfNoEntry: false })?.isDirectory() ?? false)
}

async function connectTo(deps: EngineFilesDeps, volume: StateVolume): Promise<FilesLink> {
  const { engine } = deps
  const image = await requireFilesImage(deps)
  const id = await engine.change(async (docker, abortSignal) => {
    const container = await docker.createContainer({ ...toOrder(deps, volume, image), abortSignal })
    return container.id
  })
  try {
    return await engine.change(async (docker) => {
      const container = docker.getContainer(id)
      const stream = await container.attach({ stream: true, stdin: true, stdout: true, stderr: true, hijack: true })
      await container.start()
      return toLink(docker, stream, () => removeContainer(engine, id))
    })
  } catch (error) {
    await removeContainer(engine, id)
    throw toEngineError(error)
  }
}

/** Returns the id of the image that can serve files, or null. */
export async function findFilesImage({
  engine,
  filesImages,
}: Pick<EngineFilesDeps, 'engine' | 'filesImages'>): Promise<string | null> {
  for (const reference of filesImages) {
    const image = await findImage(engine, reference).catch(ignoreInvalid)
    if (image?.kind === 'stead' && image.version === VERSION) return image.id
  }
  return null
}

/** @throws AppError `unavailable` {code: 'NOT_CONFIGURED'}. */
async function requireFilesImage(deps: EngineFilesDeps): Promise<string> {
  const image = await findFilesImage(deps)
  if (image !== null) return image
  const text = `Files of agents in containers need the image ${deps.filesImages.at(-1)}: stead agent-image makes it`
  throw new AppError('unavailable', text, { code: 'NOT_CONFIGURED' })
}

/** Builds the helper container, which ends and removes itself when the platform closes its input. */
function toOrder({ instance }: EngineFilesDeps, volume: StateVolume, image: string): Docker.ContainerCreateOptions {
  return {
    name: `stead-${instance}-${volume.agentId}.files-${randomText(8).toLowerCase()}`,
    Image: image,
    User: volume.driver.user,
    Entrypoint: [PROGRAM, 'agent', '--files', SERVED_AT],
    Cmd: [],
    Env: ['HOME=/tmp', 'TMPDIR=/tmp'],
    WorkingDir: '/',
    Labels: { [LABELS.instance]: instance, [LABELS.files]: volume.agentId },
    Healthcheck: { Test: ['NONE'] },
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    HostConfig: {
      ...PROFILE,
      ...LIMITS,
      AutoRemove: true,
      NetworkMode: 'none',
      RestartPolicy: { Name: 'no' },
      // Its output contains users' files.
      LogConfig: { Type: 'none', Config: {} },
      Tmpfs: { '/tmp': 'rw,nosuid,nodev,noexec,size=64m,mode=1777' },
      Mounts: [
        {
          Type: 'volume',
          Source: volume.name,
          Target: SERVED_AT,
          VolumeOptions: { NoCopy: true, Labels: {}, DriverConfig: { Name: 'local', Options: {} } },
        },
      ],
    },
  }
}

function toLink(docker: Docker, stream: NodeJS.ReadWriteStream, remove: () => Promise<void>): FilesLink {
  const input = new PassThrough()
  const errors = new PassThrough()
  errors.resume()
  docker.modem.demuxStream(stream, input, errors)
  stream.on('end', () => input.end())
  stream.on('close', () => input.end())
  stream.on('error', () => input.end())
  return {
    input,
    async write(text) {
      if (!stream.write(text)) await drained(stream)
    },
    async close() {
      stream.end()
      await remove()
    },
  }
}

/** Also resolves when the stream is closed; later writes then fail. */
function drained(stream: NodeJS.ReadWriteStream): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ['drain', 'close', 'error']) stream.once(event, () => resolve())
  })
}

async function removeContainer(engine: Engine, id: string): Promise<void> {
  try {
    await engine.change((docker, abortSignal) =>
      orNull(docker.getContainer(id).remove({ force: true, v: true, abortSignal })),
    )
  } catch (error) {
    // It is already removing itself.
    if (!hasStatus(error, 409)) throw error
  }
}

function ignoreInvalid(error: unknown): null {
  if (error instanceof AppError && error.kind === 'invalid') return null
  throw error
}

/** Creates the error for an agent without a state volume. */
export function noFiles(): AppError {
  return new AppError('unavailable', 'The agent has no files yet: start it', { code: 'NOT_CONFIGURED' })
}
