import { AppError } from '../../../core/errors.ts'
import type { AttachmentRow } from '../../conversations/chat/tables.ts'

/** What a file is, by what stands in it: a name or a header may say anything. */
export type FileKind = Pick<AttachmentRow, 'kind' | 'mediaType'>

const MEGABYTE = 1024 * 1024
/** Models take no larger pictures, and the agent no larger texts. */
const MAX_BYTES: Readonly<Record<FileKind['kind'], number>> = { image: 4 * MEGABYTE, text: MEGABYTE, pdf: 8 * MEGABYTE }

/** How files begin, in hexadecimal digits. */
const SIGNATURES: readonly (FileKind & { pattern: RegExp })[] = [
  { kind: 'image', mediaType: 'image/png', pattern: /^89504e470d0a1a0a/ },
  { kind: 'image', mediaType: 'image/jpeg', pattern: /^ffd8ff/ },
  { kind: 'image', mediaType: 'image/gif', pattern: /^474946383[79]61/ },
  { kind: 'image', mediaType: 'image/webp', pattern: /^52494646.{8}57454250/ },
  { kind: 'pdf', mediaType: 'application/pdf', pattern: /^255044462d/ },
]
const HEAD_BYTES = 16

/** @throws AppError `invalid` for an empty file and one of another kind, `too_large`. */
export function toFileKind(bytes: Uint8Array): FileKind {
  if (bytes.length === 0) throw new AppError('invalid', 'The file is empty')
  const head = Buffer.from(bytes.subarray(0, HEAD_BYTES)).toString('hex')
  const { kind, mediaType } = SIGNATURES.find(({ pattern }) => pattern.test(head)) ?? requireText(bytes)
  const maxBytes = MAX_BYTES[kind]
  if (bytes.length > maxBytes) {
    throw new AppError('too_large', `A file of type ${mediaType} has at most ${maxBytes / MEGABYTE} MB`)
  }
  return { kind, mediaType }
}

function requireText(bytes: Uint8Array): FileKind {
  if (toText(bytes)?.includes('\0') === false) return { kind: 'text', mediaType: 'text/plain' }
  throw new AppError('invalid', 'Only PNG, JPEG, GIF and WebP images, PDF and text (UTF-8) can be attached')
}

/** Null for what is no UTF-8. */
export function toText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    // That it is no text is the answer.
    return null
  }
}
