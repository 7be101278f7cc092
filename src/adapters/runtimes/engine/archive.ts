import { createReadStream, createWriteStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { pack } from 'tar-stream'
import { type AgentDriver, SECRETS_DIR } from '../contract/agent-image.ts'
import type { Engine } from './engine.ts'

const MAX_SECRETS_BYTES = 1024 * 1024

/** Puts each secret into the container's own folder of secrets, for its user alone to read. It need not run. */
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

/** Gives a twin the same secrets. @throws Error when there are more than a megabyte: an image may let its agent write there. */
export async function copySecrets(engine: Pick<Engine, 'change'>, from: string, to: string): Promise<void> {
  await engine.change(async (docker, abortSignal) => {
    const archive = await docker.getContainer(from).getArchive({ path: `${SECRETS_DIR}/.`, abortSignal })
    await docker
      .getContainer(to)
      .putArchive(await readAtMost(archive, MAX_SECRETS_BYTES), { path: SECRETS_DIR, abortSignal })
  })
}

/** Makes the agent's program mend its state when it starts next, where it can. */
export async function requestRepair(engine: Engine, containerId: string, driver: AgentDriver): Promise<void> {
  if (driver.repairFile === null) return
  const archive = await toTar(driver, { [driver.repairFile]: '' }, 0o600)
  await engine.change((docker, abortSignal) =>
    docker.getContainer(containerId).putArchive(archive, { path: driver.stateDir, abortSignal }),
  )
}

/** Writes what a stopped container has in `stateDir` to `file`: a gzipped tar of mode 0600 that is whole or not there. */
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
