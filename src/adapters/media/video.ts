import { open, rename, rm } from 'node:fs/promises'
import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { readJson, readText } from '../egress/answers/read-text.ts'
import { isUnsent } from '../egress/unsent.ts'

/** `usdPerSecond` is the operator's price; undefined uses the published one. */
export type VideoPricing = { model: string; usdPerSecond: number | undefined }
type VideoOptions = { baseUrl: string | undefined; apiKey: string | undefined } & VideoPricing

/** `imageUrl` is the first frame, where the provider supports one. */
export type VideoPrompt = { text: string; imageUrl: string | null }
/** `error` is the provider's reason for `failed`; `seconds` is the length of the video, null when unknown. */
export type VideoProgress = {
  id: string
  status: 'processing' | 'completed' | 'failed'
  error: string | null
  seconds: number | null
}

/** The provider rejected the request or never received it, so it cannot have cost anything; other failures may have. */
export class VideoRefusal extends AppError {}

/**
 * Creates videos through an OpenAI-compatible API (`POST /videos`, `GET /videos/:id`, `GET /videos/:id/content`). Every
 * method throws AppError `unavailable` NOT_CONFIGURED, `invalid` with the provider's reason, `limited`,
 * `upstream_timeout` or `upstream_failed`.
 */
export type VideoProvider = {
  readonly pricing: VideoPricing
  requireConfigured(): void
  create(prompt: VideoPrompt, signal: AbortSignal): Promise<VideoProgress>
  find(id: string, signal: AbortSignal): Promise<VideoProgress>
  /** Writes a finished video to `file` atomically and returns its size in bytes. */
  download(id: string, file: string, signal: AbortSignal): Promise<number>
}

const CALL_TIMEOUT_MS = 30_000
const DOWNLOAD_TIMEOUT_MS = 300_000
const MAX_VIDEO_BYTES = 512 * 1024 * 1024
const MAX_ERROR_CHARACTERS = 500
const MAX_PROBLEM_BYTES = 100_000
const FAILED = 'The video provider failed'

const Progress = z
  .object({
    id: z.string().min(1),
    status: z.string(),
    error: z.object({ message: z.string() }).nullish().catch(null),
    seconds: z.coerce.number().positive().nullish().catch(null),
  })
  .transform(
    ({ id, status, error, seconds }): VideoProgress => ({
      id,
      status: toStatus(status),
      error: error?.message ?? null,
      seconds: seconds ?? null,
    }),
  )
const Problem = z.object({ error: z.object({ message: z.string() }) })

export function createVideoProvider(options: VideoOptions, deps: { fetch: typeof fetch }): VideoProvider {
  const requireSettings = () => {
    const { baseUrl, apiKey } = options
    if (baseUrl) return { baseUrl, ...(apiKey && { authorization: `Bearer ${apiKey}` }) }
    throw new AppError('unavailable', 'Video generation is not configured: set VIDEO_BASE_URL and VIDEO_API_KEY', {
      code: 'NOT_CONFIGURED',
    })
  }
  const call = async (path: string, signal: AbortSignal, body?: unknown): Promise<Response> => {
    const { baseUrl, ...headers } = requireSettings()
    const response = await deps.fetch(`${baseUrl}/videos${path}`, {
      headers,
      signal,
      ...(body !== undefined && {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    })
    if (!response.ok) throw await toProblem(response)
    return response
  }
  const within = async <T>(timeoutMs: number, outer: AbortSignal, run: (signal: AbortSignal) => Promise<T>) => {
    const timeout = AbortSignal.timeout(timeoutMs)
    try {
      return await run(AbortSignal.any([outer, timeout]))
    } catch (error) {
      if (outer.aborted) throw outer.reason
      if (error instanceof AppError) throw error
      throw timeout.aborted ? tooSlow(error) : failed(error)
    }
  }

  return {
    pricing: { model: options.model, usdPerSecond: options.usdPerSecond },
    requireConfigured: () => void requireSettings(),
    create: ({ text, imageUrl }, signal) =>
      within(CALL_TIMEOUT_MS, signal, async (bounded) => {
        const reference = imageUrl ? { input_reference: { image_url: imageUrl } } : {}
        const response = await call('', bounded, { model: options.model, prompt: text, ...reference })
        return Progress.parse(await readJson(response))
      }),
    find: (id, signal) =>
      within(CALL_TIMEOUT_MS, signal, async (bounded) => {
        const response = await call(`/${encodeURIComponent(id)}`, bounded)
        return Progress.parse(await readJson(response))
      }),
    download: (id, file, signal) =>
      within(DOWNLOAD_TIMEOUT_MS, signal, async (bounded) => {
        const response = await call(`/${encodeURIComponent(id)}/content`, bounded)
        return saveVideo(response, file)
      }),
  }
}

async function saveVideo(response: Response, file: string): Promise<number> {
  const part = `${file}.part`
  try {
    if (!/^(?:video\/|application\/octet-stream)/i.test(response.headers.get('content-type') ?? '')) {
      throw failed('The content is no video')
    }
    const sizeBytes = await writeBytes(part, response.body ?? [])
    if (sizeBytes === 0) throw failed('The content is empty')
    await rename(part, file)
    return sizeBytes
  } finally {
    await rm(part, { force: true })
  }
}

/** Writes and syncs a video up to the size limit. */
async function writeBytes(file: string, chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<number> {
  const handle = await open(file, 'w', 0o600)
  try {
    let sizeBytes = 0
    for await (const chunk of chunks) {
      sizeBytes += chunk.byteLength
      if (sizeBytes > MAX_VIDEO_BYTES) throw failed('The content is too long')
      await handle.writeFile(chunk)
    }
    await handle.sync()
    return sizeBytes
  } finally {
    await handle.close()
  }
}

function toStatus(status: string): VideoProgress['status'] {
  if (status === 'completed') return 'completed'
  return status === 'queued' || status === 'in_progress' ? 'processing' : 'failed'
}

async function toProblem(response: Response): Promise<AppError> {
  // An unreadable or overlong reason does not change the rejection.
  const text = await readText(response, MAX_PROBLEM_BYTES).catch(() => '')
  if (response.status === 429) return new VideoRefusal('limited', 'The video provider wants to be asked later')
  if (response.status !== 400 && response.status !== 422) return refused(`status ${response.status}`)
  const problem = Problem.safeParse(parseJson(text)).data?.error.message ?? 'it gave no reason'
  return new VideoRefusal('invalid', `The video provider refused: ${problem.slice(0, MAX_ERROR_CHARACTERS)}`)
}

/** Returns undefined for invalid JSON, which every schema here rejects. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function failed(cause: unknown): AppError {
  return isUnsent(cause) ? refused(cause) : new AppError('upstream_failed', FAILED, {}, { cause })
}

function refused(cause: unknown): VideoRefusal {
  return new VideoRefusal('upstream_failed', FAILED, {}, { cause })
}

function tooSlow(cause: unknown): AppError {
  return new AppError('upstream_timeout', 'The video provider did not answer in time', {}, { cause })
}
