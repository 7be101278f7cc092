import { access, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '../../core/errors.ts'
import { writeAtomically } from '../state/files.ts'
import { makeFolders } from '../state/paths.ts'
import type { SentFile, Service } from './channel.ts'
import type { WaitingMessage } from './inbox.ts'

/** Relative to the workspace. */
const FOLDER = 'inbox'
const MAX_NAME_CHARS = 80
const PICTURE = /\.(png|jpe?g|gif|webp)$/i
const MAX_IMAGES = 8

/** Notes for the model, and paths of the images that it is shown. */
type Saved = { notes: string[]; images: string[] }

/** Files of received messages, stored in the workspace. */
export type SavedFiles = {
  /** Downloads the files that are not stored yet. @throws NodeJS.ErrnoException */
  save(message: WaitingMessage): Promise<Saved>
}

export function createSavedFiles(workspace: string, service: Service): SavedFiles {
  const saveOne = async (message: WaitingMessage, file: SentFile, index: number): Promise<string> => {
    const name = `${message.id}-${index + 1}-${toSafeName(file.name)}`
    const folder = await makeFolders(await realpath(workspace), [FOLDER])
    const path = join(folder, name)
    if (!(await exists(path))) await writeAtomically(path, await service.fetchFile(file))
    return `${FOLDER}/${name}`
  }
  return {
    async save(message) {
      const saved: Saved = { notes: [], images: [] }
      for (const [index, file] of message.files.entries()) {
        try {
          const path = await saveOne(message, file, index)
          saved.notes.push(`(A file came with this message; it is in your workspace: ${path})`)
          if (PICTURE.test(path) && saved.images.length < MAX_IMAGES) saved.images.push(path)
        } catch (error) {
          if (!(error instanceof AppError)) throw error
          const name = toSafeName(file.name)
          saved.notes.push(`(A file came with this message and could not be taken, ${name}: ${error.message})`)
        }
      }
      return saved
    },
  }
}

/** Returns a name without path separators and unusual characters. */
function toSafeName(name: string): string {
  const safe = name
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}._-]+/gu, '_')
    .replace(/^\.+/, '')
  return safe.slice(-MAX_NAME_CHARS) || 'file'
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

const TIMEOUT_MS = 120_000
const MEGABYTE = 1024 * 1024

/** A file to download; `service` is its name in messages. */
type Download = { service: string; url: string; maxBytes: number; headers?: Record<string, string> }

/**
 * Downloads a file from a messenger. Network errors are not passed on, because the URL may hold a secret.
 * @throws AppError `upstream_failed`, `too_large`.
 */
export async function downloadAttachment(
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
