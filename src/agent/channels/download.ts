import { AppError } from '../../core/errors.ts'

const TIMEOUT_MS = 120_000
const MEGABYTE = 1024 * 1024

/** Where a file is to be had; `service` is the name that people know. */
export type Download = { service: string; url: string; maxBytes: number; headers?: Record<string, string> }

/**
 * Fetches a file that somebody sent. The address may hold a secret, so nothing of what the network says of it is told.
 * @throws AppError `upstream_failed`, `too_large`.
 */
export async function downloadFile(
  { service, url, maxBytes, headers = {} }: Download,
  plainFetch: typeof fetch,
): Promise<Uint8Array> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const response = await plainFetch(url, { headers, redirect: 'error', signal }).catch(() => null)
  if (!response?.ok) throw new AppError('upstream_failed', `${service} did not hand it out`)
  const chunks: Uint8Array[] = []
  let sizeBytes = 0
  for await (const chunk of response.body ?? []) {
    sizeBytes += chunk.byteLength
    if (sizeBytes > maxBytes) throw new AppError('too_large', `It is larger than ${maxBytes / MEGABYTE} MB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
