import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import { listOf } from '../../core/text/lines.ts'
import { readJson } from '../egress/answers/read-text.ts'

type RadioOptions = { apiUrl: string; apiId: string | undefined; apiToken: string | undefined }

/** A live stream at the provider; `playbackId` is public and null until assigned. */
export type LiveStream = { id: string; status: string; playbackId: string | null; createdAt: Date | null }
/** A new stream with its secret key for broadcasting. */
export type NewLiveStream = LiveStream & { streamKey: string }

/**
 * Client of a Mux-compatible provider of live streams. Every method throws AppError `unavailable` NOT_CONFIGURED
 * without credentials, `upstream_failed` or `upstream_timeout`.
 */
export type RadioProvider = {
  requireConfigured(): void
  /** Lists streams that are on air, without their keys. */
  listLive(): Promise<LiveStream[]>
  create(): Promise<NewLiveStream>
  /** Deletes a stream; succeeds when it no longer exists. */
  remove(id: string): Promise<void>
}

/** Ingest URL for broadcasters. */
export const INGEST_URL = 'rtmps://global-live.mux.com:443/app'

const TIMEOUT_MS = 15_000
const LIST_LIMIT = 100

const Seconds = z.coerce
  .number()
  .transform((seconds) => new Date(seconds * 1000))
  .nullable()
  .catch(null)
const Stream = z
  .object({
    id: z.string().min(1),
    status: z.string(),
    playback_ids: z.array(z.object({ id: z.string() })).default([]),
    created_at: Seconds.default(null),
  })
  .transform(
    ({ id, status, playback_ids, created_at }): LiveStream => ({
      id,
      status,
      playbackId: playback_ids[0]?.id ?? null,
      createdAt: created_at,
    }),
  )
const Streams = z.object({ data: listOf(Stream) })
const Created = z.object({ data: z.intersection(z.object({ stream_key: z.string().min(1) }), Stream) })

export function createRadioProvider(options: RadioOptions, deps: { fetch: typeof fetch }): RadioProvider {
  const requireSettings = () => {
    const { apiUrl, apiId, apiToken } = options
    if (!apiId || !apiToken) {
      throw new AppError('unavailable', 'Radio is not configured: set RADIO_API_ID and RADIO_API_TOKEN', {
        code: 'NOT_CONFIGURED',
      })
    }
    return { apiUrl, authorization: `Basic ${Buffer.from(`${apiId}:${apiToken}`).toString('base64')}` }
  }
  const call = async (method: string, path: string, body?: unknown): Promise<Response> => {
    const { apiUrl, authorization } = requireSettings()
    try {
      return await deps.fetch(`${apiUrl}/video/v1/live-streams${path}`, {
        method,
        headers: { authorization, accept: 'application/json', 'content-type': 'application/json' },
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    } catch (error) {
      throw toRadioError(error)
    }
  }
  const ask = async <Schema extends z.ZodType>(schema: Schema, method: string, path: string, body?: unknown) => {
    const response = await call(method, path, body)
    try {
      if (!response.ok) throw failed(`status ${response.status}`)
      return schema.parse(await readJson(response))
    } catch (error) {
      throw toRadioError(error)
    }
  }

  return {
    requireConfigured: () => void requireSettings(),
    async listLive() {
      const { data } = await ask(Streams, 'GET', `?limit=${LIST_LIMIT}&status=active`)
      return data.filter(({ status }) => status === 'active')
    },
    async create() {
      const playback = { playback_policy: ['public'] }
      const { data } = await ask(Created, 'POST', '', { ...playback, new_asset_settings: playback })
      const { stream_key, ...stream } = data
      return { ...stream, streamKey: stream_key }
    },
    async remove(id) {
      const response = await call('DELETE', `/${encodeURIComponent(id)}`)
      if (!response.ok && response.status !== 404) throw failed(`status ${response.status}`)
    },
  }
}

function failed(cause: string): AppError {
  return new AppError('upstream_failed', 'The radio provider did not do what it was asked', {}, { cause })
}

function toRadioError(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new AppError('upstream_timeout', 'The radio provider did not answer in time', {}, { cause: error })
  }
  return new AppError('upstream_failed', 'The radio provider did not do what it was asked', {}, { cause: error })
}
