import { and, eq, isNull, lt } from 'drizzle-orm'
import type { PdfReader } from '../../../adapters/documents/pdf.ts'
import type { WorkspaceFiles } from '../../../adapters/workspaces/workspace.ts'
import { addDays, type Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal, SignedInUser } from '../../../http/env.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import type { StorageQuota } from '../../agents/storage/quota.ts'
import { withinWorkspaceQuota } from '../../agents/storage/quota.ts'
import { MAX_EXCERPT_CHARACTERS } from '../../conversations/chat/attachments.ts'
import { type AttachmentRow, chatAttachments } from '../../conversations/chat/tables.ts'
import { type OneAtATime, openWorkspace, type Workspace, type WorkspaceDeps } from '../browse/workspace.ts'

export type AttachDeps = WorkspaceDeps & {
  clock: Clock
  pdf: PdfReader
  storage: Pick<StorageQuota, 'within'>
  oneAtATime: OneAtATime
}

/** Folder of attachments in an agent's workspace. */
const FOLDER = 'attachments'
/** Limits the unsent attachments of one user and how long they are kept. */
const MAX_WAITING = 50
const WAITING_DAYS = 1
/** Smallest disk usage of a folder entry. */
const ENTRY_BYTES = 4096

/**
 * Writes a file, and the text of a PDF next to it, into an agent's workspace for a message that is sent later.
 * @throws AppError `invalid` and `too_large` as `toFileKind`, `storage_full`, `limited` {current, limit} when too many
 * attachments are unsent, `unavailable` when the workspace cannot be reached.
 */
export async function attachFile(
  deps: AttachDeps,
  user: SignedInUser,
  agent: AgentRow,
  { name, bytes }: { name: string; bytes: Uint8Array },
): Promise<AttachmentRow> {
  await write(deps.db, (tx) => requireFewWaiting(deps.clock, tx, user.id))
  const { kept, text } = await keepFile(deps, { kind: 'user', user }, agent.id, { name, bytes })
  const excerpt = text?.slice(0, MAX_EXCERPT_CHARACTERS) ?? null
  const row = { ...kept, userId: user.id, agentId: agent.id, excerpt, createdAt: deps.clock.now() }
  return write(deps.db, (tx) => {
    requireFewWaiting(deps.clock, tx, user.id)
    return deps.storage.within(tx, agent.ownerId, () => tx.insert(chatAttachments).values(row).returning().get())
  })
}

/** A file in an agent's workspace; `textPath` is the file with its readable text, null for an image. */
type KeptFile = Pick<AttachmentRow, 'id' | 'kind' | 'mediaType' | 'name' | 'sizeBytes' | 'path' | 'textPath'>

/**
 * Writes a file, and the text of a PDF next to it, into an agent's workspace.
 * @throws as `attachFile`, except `limited`.
 */
export async function keepFile(
  deps: Omit<AttachDeps, 'clock'>,
  principal: Principal,
  agentId: string,
  { name, bytes }: { name: string; bytes: Uint8Array },
): Promise<{ kept: KeptFile; text: string | null }> {
  const kind = toFileKind(bytes)
  const workspace = openWorkspace(deps, principal, agentId)
  const text = await readText(deps, kind, bytes)
  const id = newId('att')
  const path = `${FOLDER}/${id}-${toFileName(name)}`
  const textPath = kind.kind === 'pdf' ? `${path}.txt` : path
  const files = [{ path, bytes }, ...(kind.kind === 'pdf' ? [{ path: textPath, bytes: Buffer.from(text ?? '') }] : [])]
  await writeFiles(deps, workspace, files)
  return { kept: { id, ...kind, name, sizeBytes: bytes.length, path, textPath: text === null ? null : textPath }, text }
}

async function writeFiles(
  deps: Omit<AttachDeps, 'clock'>,
  workspace: Workspace,
  files: readonly { path: string; bytes: Uint8Array }[],
): Promise<void> {
  const addedBytes = files.reduce((sum, { bytes }) => sum + bytes.length + ENTRY_BYTES, ENTRY_BYTES)
  const writeAll = async (folder: WorkspaceFiles) => {
    await folder.makeFolder(FOLDER)
    for (const { path, bytes } of files) await folder.write(path, bytes)
  }
  await deps.oneAtATime(workspace, () =>
    withinWorkspaceQuota(deps, workspace, addedBytes, () => workspace.use(writeAll)),
  )
}

async function readText(
  { pdf }: Pick<AttachDeps, 'pdf'>,
  { kind }: FileKind,
  bytes: Uint8Array,
): Promise<string | null> {
  if (kind === 'image') return null
  return kind === 'pdf' ? pdf.read(bytes) : toText(bytes)
}

/** Deletes attachment rows that were not sent within a day; the file stays in the workspace. */
function requireFewWaiting(clock: Clock, tx: Tx, userId: string): void {
  const isWaiting = and(eq(chatAttachments.userId, userId), isNull(chatAttachments.messageId))
  tx.delete(chatAttachments)
    .where(and(isWaiting, lt(chatAttachments.createdAt, addDays(clock.now(), -WAITING_DAYS))))
    .run()
  const current = countRows(tx, chatAttachments, isWaiting)
  requireQuota({ current, limit: MAX_WAITING, message: 'Too many attachments wait to be sent' })
}

/** Keeps letters and digits of any script so every file system and the model can handle the name. */
function toFileName(name: string): string {
  const plain = name
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .replace(/^[.-]+/, '')
  return [...plain].slice(-60).join('') || 'file'
}

/** The kind of a file, detected from its content: names and headers are not trustworthy. */
type FileKind = Pick<AttachmentRow, 'kind' | 'mediaType'>

const MEGABYTE = 1024 * 1024
/** Models accept no larger images, and the agent accepts no larger texts. */
const MAX_BYTES: Readonly<Record<FileKind['kind'], number>> = { image: 4 * MEGABYTE, text: MEGABYTE, pdf: 8 * MEGABYTE }

/** File signatures in hexadecimal. */
const SIGNATURES: readonly (FileKind & { pattern: RegExp })[] = [
  { kind: 'image', mediaType: 'image/png', pattern: /^89504e470d0a1a0a/ },
  { kind: 'image', mediaType: 'image/jpeg', pattern: /^ffd8ff/ },
  { kind: 'image', mediaType: 'image/gif', pattern: /^474946383[79]61/ },
  { kind: 'image', mediaType: 'image/webp', pattern: /^52494646.{8}57454250/ },
  { kind: 'pdf', mediaType: 'application/pdf', pattern: /^255044462d/ },
]
const HEAD_BYTES = 16

/** Detects the kind of a file. @throws AppError `invalid` for an empty file or an unsupported kind, `too_large`. */
function toFileKind(bytes: Uint8Array): FileKind {
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

/** Decodes UTF-8; returns null for other bytes. */
function toText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    // A decoding error means that the file is not text.
    return null
  }
}
