import { and, eq, isNull, lt } from 'drizzle-orm'
import type { PdfReader } from '../../../adapters/documents/pdf.ts'
import type { WorkspaceFiles } from '../../../adapters/workspaces/workspace.ts'
import { addDays, type Clock } from '../../../core/clock.ts'
import { newId } from '../../../core/ids.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal, SignedInUser } from '../../../http/env.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { type WorkspaceQuotaDeps, withinWorkspaceQuota } from '../../agents/storage/quota.ts'
import { MAX_EXCERPT_CHARACTERS } from '../../conversations/chat/attachments.ts'
import { type AttachmentRow, chatAttachments } from '../../conversations/chat/tables.ts'
import type { OneAtATime } from '../browse/one-at-a-time.ts'
import { openWorkspace, type Workspace, type WorkspaceDeps } from '../browse/open-workspace.ts'
import { type FileKind, toFileKind, toText } from './kinds.ts'

export type AttachDeps = WorkspaceDeps & {
  clock: Clock
  pdf: PdfReader
  storage: WorkspaceQuotaDeps['storage']
  oneAtATime: OneAtATime
}

/** Where attachments lie in the workspace of an agent. */
const FOLDER = 'attachments'
/** Attachments of one user that wait to be sent, and for how long. */
const MAX_WAITING = 50
const WAITING_DAYS = 1
/** What an entry of a folder takes at least. */
const ENTRY_BYTES = 4096

/**
 * Puts a file into the workspace of an agent, the text of a PDF beside it, for a message that is still to be sent.
 * @throws AppError `invalid` and `too_large` as `toFileKind`, `storage_full`, `limited` {current, limit} when too many wait,
 * `unavailable` for a workspace that cannot be reached.
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

/** A file in the workspace of an agent; `textPath` is the file with what can be read in it, null for an image. */
export type KeptFile = Pick<AttachmentRow, 'id' | 'kind' | 'mediaType' | 'name' | 'sizeBytes' | 'path' | 'textPath'>

/**
 * Puts a file into the workspace of an agent, the text of a PDF beside it.
 * @throws as `attachFile`, but for `limited`.
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

/** What was never sent is forgotten after a day; the file stays with the agent. */
function requireFewWaiting(clock: Clock, tx: Tx, userId: string): void {
  const isWaiting = and(eq(chatAttachments.userId, userId), isNull(chatAttachments.messageId))
  tx.delete(chatAttachments)
    .where(and(isWaiting, lt(chatAttachments.createdAt, addDays(clock.now(), -WAITING_DAYS))))
    .run()
  const current = countRows(tx, chatAttachments, isWaiting)
  requireQuota({ current, limit: MAX_WAITING, message: 'Too many attachments wait to be sent' })
}

/** Letters and digits of any script, so that every system and the agent's model can name it. */
function toFileName(name: string): string {
  const plain = name
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .replace(/^[.-]+/, '')
  return [...plain].slice(-60).join('') || 'file'
}
