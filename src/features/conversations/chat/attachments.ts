import { and, eq, inArray, isNull } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { ChatAttachment } from './schemas.ts'
import { type AttachmentRow, chatAttachments, type MessageRow } from './tables.ts'

export const MAX_EXCERPT_CHARACTERS = 20_000
/** Most attachment text in one message to the agent, which finds the rest in its workspace. */
const MAX_SENT_CHARACTERS = 60_000

/** Attaches uploaded files to a message. @throws AppError `not_found` for a missing or already attached file. */
export function attachTo(tx: Tx, question: MessageRow, ids: readonly string[]): void {
  const { id: messageId, userId, agentId } = question
  const wanted = [...new Set(ids)]
  if (wanted.length === 0) return
  const isWaiting = and(
    inArray(chatAttachments.id, wanted),
    eq(chatAttachments.userId, userId),
    eq(chatAttachments.agentId, agentId),
    isNull(chatAttachments.messageId),
  )
  const { changes } = tx.update(chatAttachments).set({ messageId }).where(isWaiting).run()
  if (changes !== wanted.length) throw new AppError('not_found', 'Attachment not found')
}

export function copyAttachments(tx: Tx, from: MessageRow, to: MessageRow): void {
  for (const { sequence: _, ...row } of listAttachments(tx, [from.id])) {
    tx.insert(chatAttachments)
      .values({ ...row, id: newId('att'), messageId: to.id, createdAt: to.createdAt })
      .run()
  }
}

function listAttachments(db: Db | Tx, messageIds: readonly string[]): AttachmentRow[] {
  return db
    .select()
    .from(chatAttachments)
    .where(inArray(chatAttachments.messageId, [...messageIds]))
    .orderBy(chatAttachments.sequence)
    .all()
}

export function showAttachments(db: Db, rows: readonly MessageRow[]): Map<string, { attachments: ChatAttachment[] }> {
  const questions = rows.flatMap(({ id, sender }) => (sender === 'user' ? [id] : []))
  const byMessage = Map.groupBy(listAttachments(db, questions), ({ messageId }) => messageId ?? '')
  return new Map([...byMessage].map(([id, found]) => [id, { attachments: found.map(toChatAttachment) }]))
}

export function toChatAttachment({ id, name, mediaType, sizeBytes, path }: AttachmentRow): ChatAttachment {
  return { id, name, mediaType, sizeBytes, path }
}

/** Builds the message for the agent: the text, its files, and their excerpts. */
export function toAgentMessage(
  db: Db,
  { id, content }: Pick<MessageRow, 'id' | 'content'>,
): { content: string; images: string[] } {
  const found = listAttachments(db, [id])
  let left = MAX_SENT_CHARACTERS
  const notes = found.map((attachment) => {
    const shown = (attachment.excerpt ?? '').slice(0, left)
    left -= shown.length
    return toNote(attachment, shown)
  })
  return {
    content: [content, ...notes].join('\n\n'),
    images: found.flatMap(({ kind, path }) => (kind === 'image' ? [path] : [])),
  }
}

function toNote({ path, mediaType, sizeBytes, excerpt, textPath }: AttachmentRow, shown: string): string {
  const head = `[Attached file, in your workspace at ${path}: ${mediaType}, ${sizeBytes} bytes]`
  if (excerpt === null || textPath === null) return head
  const isWhole = shown === excerpt && excerpt.length < MAX_EXCERPT_CHARACTERS
  const rest = isWhole ? '' : `\n[This is the beginning; all of it is text at ${textPath}]`
  return `${head}\n${shown}${rest}\n[End of the file]`
}
