import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import type Docker from 'dockerode'
import { type Pack, pack } from 'tar-stream'
import { z } from 'zod'
import { AppError } from '../../../../core/errors.ts'
import { VERSION } from '../../../../core/version.ts'
import { steadDriver } from '../../contract/agent-image.ts'
import { type Engine, hasStatus, orNull, toAppError } from '../engine.ts'
import { readLines } from '../events.ts'
import { EXECUTABLE, gid, type Packs, uid } from './image-files.ts'
import type { ImageFile } from './machine-files.ts'

const DIGEST_LABEL = 'stead.contentDigest'
/** Names the packs of an image, so that the image of the next version gets them too. */
const PACKS_LABEL = 'stead.packs'
const NO_PACKS = 'none'

/** What an image is made of: nothing is made where the engine has one of this `digest` under the name. */
export type ImageSource = { digest: string; packs: Packs; collect: () => Promise<ImageFile[]> }

/**
 * Makes the image `reference` of the built-in agent in an engine, without any registry. What had the name before goes,
 * unless containers still are made from it.
 * @returns its size in bytes, null when it was there.
 * @throws AppError of `toAppError` when the engine refuses, `internal` {code: 'ENGINE_UNAVAILABLE'} when it is not there.
 */
export async function makeAgentImage(engine: Engine, reference: string, source: ImageSource): Promise<number | null> {
  const inspect = () => engine.ask((docker) => orNull(docker.getImage(reference).inspect()))
  const existing = await inspect()
  if (existing?.Config.Labels?.[DIGEST_LABEL] === source.digest) return null
  await importImage(engine, reference, source, await source.collect())
  const made = await inspect()
  if (!made) throw new AppError('internal', `The engine has lost the image ${reference}`)
  if (existing && existing.RepoTags.length === 1) await removeUnused(engine, existing.Id)
  return made.Size
}

/** Returns the packs of an image that `makeAgentImage` has made, null when the engine has no image of this name. */
export async function findPacks(engine: Engine, reference: string): Promise<Packs | null> {
  const image = await engine.ask((docker) => orNull(docker.getImage(reference).inspect()))
  if (!image) return null
  const named = image.Config.Labels?.[PACKS_LABEL]?.split(',') ?? []
  return { shell: named.includes('shell'), python: named.includes('python') }
}

/** The names of the packs, as options of `agent-image` and in the label. */
export function listPacks(packs: Packs): ('shell' | 'python')[] {
  return (['shell', 'python'] as const).filter((name) => packs[name])
}

async function importImage(engine: Engine, reference: string, source: ImageSource, files: ImageFile[]): Promise<void> {
  const archive = pack()
  const at = reference.lastIndexOf(':')
  const name = { repo: reference.slice(0, at), tag: reference.slice(at + 1) }
  const importing = engine.change((docker: Docker) =>
    docker.importImage(Readable.from(archive), { ...name, changes: toChanges(source) }),
  )
  fill(archive, files)
  const stream = await importing.catch((error) => {
    throw toAppError(error)
  })
  for await (const line of readLines(stream)) {
    const { error } = z.object({ error: z.string().optional() }).parse(JSON.parse(line))
    if (error) throw new AppError('internal', `The engine does not take the image: ${error}`)
  }
}

function fill(archive: Pack, files: ImageFile[]): void {
  const folders = new Set(files.flatMap(({ name }) => parentsOf(name)))
  for (const name of [...folders].sort()) archive.entry({ name: name.slice(1), type: 'directory', mode: 0o755 })
  archive.entry({ name: 'tmp', type: 'directory', mode: 0o1777 })
  archive.entry({ name: steadDriver.stateDir.slice(1), type: 'directory', mode: 0o700, uid, gid })
  for (const file of files) {
    const name = file.name.slice(1)
    if ('linkname' in file) archive.entry({ name, type: 'symlink', linkname: file.linkname })
    else archive.entry({ name, mode: file.mode ?? 0o644 }, file.content)
  }
  archive.finalize()
}

/** `/a/b/c` has `/a` and `/a/b`. */
function parentsOf(path: string): string[] {
  const parent = dirname(path)
  return parent === '/' ? [] : [...parentsOf(parent), parent]
}

/** As lines of a Dockerfile. `docker build` would copy the whole image for each of them on some storage drivers. */
function toChanges({ digest, packs }: ImageSource): string[] {
  return [
    `ENTRYPOINT ["${EXECUTABLE}", "agent"]`,
    `USER ${steadDriver.user}`,
    `WORKDIR ${steadDriver.stateDir}`,
    `VOLUME ${steadDriver.stateDir}`,
    `EXPOSE ${steadDriver.port}`,
    `ENV HOST=0.0.0.0 PORT=${steadDriver.port} AGENT_DIR=${steadDriver.stateDir} HOME=${steadDriver.stateDir}`,
    // For whoever runs it without a platform, which would look itself.
    `HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=5 CMD ["${EXECUTABLE}", "agent", "--check"]`,
    `LABEL stead.runtime=stead stead.runtimeVersion=${VERSION} ${DIGEST_LABEL}=${digest} ${PACKS_LABEL}=${listPacks(packs).join(',') || NO_PACKS}`,
  ]
}

/** The image that had the name before, unless containers still are made from it. */
async function removeUnused(engine: Engine, id: string): Promise<void> {
  try {
    await engine.change((docker) => docker.getImage(id).remove())
  } catch (error) {
    if (!hasStatus(error, 404, 409)) throw error
  }
}
