import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import { hasVersion } from '../../../core/text/names.ts'
import { type AgentImage, readImageLabels } from '../contract/agent-image.ts'
import { imageNotFound, type PullProgress } from '../contract/runtime.ts'
import { type Engine, hasStatus, orNull, toEngineError } from './engine.ts'
import { readEventLines } from './events.ts'

const Progress = z.object({
  status: z.string().default(''),
  id: z.string().optional(),
  progressDetail: z.object({ current: z.number().optional(), total: z.number().optional() }).optional(),
  error: z.string().optional(),
})

const MISSING =
  /not found|manifest unknown|does not exist|denied|unauthorized|no such host|connection refused|timeout|dial tcp/i

/** Limits of a pull: bytes of all layers, total time, and time without progress. */
export type PullLimits = { maxBytes: number; maxMs: number; maxSilenceMs: number }
const PULL_LIMITS: PullLimits = { maxBytes: 4 * 1024 ** 3, maxMs: 900_000, maxSilenceMs: 60_000 }

/** Returns null when the engine does not have it. @throws AppError `invalid` when it is no agent. */
export async function findImage(engine: Engine, reference: string): Promise<AgentImage | null> {
  const found = await engine.ask((docker) => orNull(docker.getImage(reference).inspect()))
  return found && { reference, id: found.Id, ...readImageLabels(found.Config.Labels ?? {}) }
}

/** Returns whether the engine has an image of this name. */
export async function hasImage(engine: Engine, reference: string): Promise<boolean> {
  return engine.ask(async (docker) => (await orNull(docker.getImage(reference).inspect())) !== null)
}

/**
 * Pulls `reference` from its registry unless it is local, after earlier pulls of this engine. An image that is no agent
 * is removed again.
 * @throws AppError `not_found` {code: 'IMAGE_NOT_FOUND'} when the registry lacks it or cannot be reached, `invalid`
 * when it is no agent or too large, `unavailable` when it takes too long, the signal's reason when that aborts.
 */
export async function pullImage(
  engine: Engine,
  reference: string,
  onProgress: (progress: PullProgress) => void,
  signal: AbortSignal,
  limits: PullLimits = PULL_LIMITS,
): Promise<void> {
  if (await findImage(engine, reference)) return
  await engine.pulls.run(async () => {
    signal.throwIfAborted()
    if (await findImage(engine, reference)) return
    await fetchImage(engine, reference, { onProgress, signal, limits })
    await requireAgent(engine, reference)
  })
}

type Fetch = { onProgress: (progress: PullProgress) => void; signal: AbortSignal; limits: PullLimits }

async function fetchImage(engine: Engine, reference: string, { onProgress, signal, limits }: Fetch): Promise<void> {
  const bounds = openBounds(reference, limits)
  const ended = AbortSignal.any([signal, bounds.signal])
  try {
    const stream = await engine.stream((docker) => docker.pull(withTag(reference), { abortSignal: ended }), ended)
    for await (const line of readEventLines(stream)) {
      const progress = readProgress(line)
      bounds.note(progress)
      onProgress(progress)
    }
    ended.throwIfAborted()
  } catch (error) {
    ended.throwIfAborted()
    throw isMissing(error) ? imageNotFound(reference) : toEngineError(error, { image: reference })
  } finally {
    bounds.close()
  }
}

/** Creates a signal that aborts at the limits; `note` records progress. */
function openBounds(reference: string, { maxBytes, maxMs, maxSilenceMs }: PullLimits) {
  const over = new AbortController()
  const layers = new Map<string, number>()
  const tooSlow = () => over.abort(new AppError('unavailable', `Image ${reference} did not come in time`))
  const deadline = setTimeout(tooSlow, maxMs)
  let silence = setTimeout(tooSlow, maxSilenceMs)
  return {
    signal: over.signal,
    note({ layer, currentBytes, totalBytes }: PullProgress) {
      clearTimeout(silence)
      silence = setTimeout(tooSlow, maxSilenceMs)
      if (layer === null) return
      // A registry need not announce sizes.
      layers.set(layer, Math.max(currentBytes ?? 0, totalBytes ?? 0, layers.get(layer) ?? 0))
      const bytes = [...layers.values()].reduce((sum, size) => sum + size, 0)
      if (bytes > maxBytes) over.abort(new AppError('invalid', `Image ${reference} is too large`))
    },
    close() {
      clearTimeout(deadline)
      clearTimeout(silence)
    },
  }
}

/** Removes a pulled image that is no agent, because it would only fill the disk. */
async function requireAgent(engine: Engine, reference: string): Promise<void> {
  try {
    if (!(await findImage(engine, reference))) throw imageNotFound(reference)
  } catch (error) {
    if (error instanceof AppError && error.kind === 'invalid') await removeImage(engine, reference)
    throw error
  }
}

/** A container that uses the image keeps it. */
async function removeImage(engine: Engine, reference: string): Promise<void> {
  await engine
    .change((docker, abortSignal) => docker.getImage(reference).remove({ abortSignal }))
    .catch((error: unknown) => {
      if (!hasStatus(error, 404, 409)) throw error
    })
}

/** Adds a tag, because the engine pulls all tags otherwise. */
function withTag(reference: string): string {
  return hasVersion(reference) ? reference : `${reference}:latest`
}

/** @throws Error with the engine's message. */
function readProgress(line: string): PullProgress {
  const { status, id, progressDetail, error } = Progress.parse(JSON.parse(line))
  if (error !== undefined) throw new Error(error)
  return {
    status,
    layer: id ?? null,
    currentBytes: progressDetail?.current ?? null,
    totalBytes: progressDetail?.total ?? null,
  }
}

/** Returns whether the registry lacks the image or cannot be reached, which callers need not distinguish. */
function isMissing(error: unknown): boolean {
  return error instanceof Error && !(error instanceof AppError) && MISSING.test(error.message)
}
