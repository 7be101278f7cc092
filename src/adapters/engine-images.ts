import { z } from 'zod'
import { AppError } from '../core/errors.ts'
import { type AgentImage, readImageLabels } from './agent-image.ts'
import { type Engine, orNull, toAppError } from './engine.ts'
import { readLines } from './engine-events.ts'
import { imageNotFound, type PullProgress } from './runtime.ts'

const Progress = z.object({
  status: z.string().default(''),
  id: z.string().optional(),
  progressDetail: z.object({ current: z.number().optional(), total: z.number().optional() }).optional(),
  error: z.string().optional(),
})

const MISSING =
  /not found|manifest unknown|does not exist|denied|unauthorized|no such host|connection refused|timeout|dial tcp/i

/** Null when the engine does not have it. @throws AppError `invalid` when it is no agent. */
export async function findImage(engine: Engine, reference: string): Promise<AgentImage | null> {
  const found = await engine.ask((docker) => orNull(docker.getImage(reference).inspect()))
  return found && { reference, id: found.Id, ...readImageLabels(found.Config.Labels ?? {}) }
}

/** Does the engine have an image of this name? */
export async function hasImage(engine: Engine, reference: string): Promise<boolean> {
  return engine.ask(async (docker) => (await orNull(docker.getImage(reference).inspect())) !== null)
}

/**
 * Fetches `reference` from its registry when it is not here.
 * @throws AppError `not_found` {code: 'IMAGE_NOT_FOUND'} when the registry does not have it or cannot be reached.
 */
export async function pullImage(
  engine: Engine,
  reference: string,
  onProgress: (progress: PullProgress) => void,
  signal: AbortSignal,
): Promise<void> {
  if (await hasImage(engine, reference)) return
  try {
    const stream = await engine.stream((docker) => docker.pull(withTag(reference), { abortSignal: signal }), signal)
    for await (const line of readLines(stream)) report(line, onProgress)
  } catch (error) {
    throw isMissing(error) ? imageNotFound(reference) : toAppError(error, { image: reference })
  }
  if (!(await hasImage(engine, reference))) throw imageNotFound(reference)
}

/** Without a tag the engine would fetch every one there is. */
function withTag(reference: string): string {
  const name = reference.slice(reference.lastIndexOf('/') + 1)
  return name.includes(':') || name.includes('@') ? reference : `${reference}:latest`
}

function report(line: string, onProgress: (progress: PullProgress) => void): void {
  const { status, id, progressDetail, error } = Progress.parse(JSON.parse(line))
  if (error !== undefined) throw new Error(error)
  onProgress({
    status,
    layer: id ?? null,
    currentBytes: progressDetail?.current ?? null,
    totalBytes: progressDetail?.total ?? null,
  })
}

/** A registry that cannot be reached and one that does not have it are the same to who asked: there is no such image. */
function isMissing(error: unknown): boolean {
  return error instanceof Error && !(error instanceof AppError) && MISSING.test(error.message)
}
