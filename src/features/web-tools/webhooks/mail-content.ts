import type { MailReader } from '../../../adapters/mail/reader.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { MailFile } from '../../conversations/inbox/tables.ts'
import { type AttachDeps, keepFile } from '../attachments/attach.ts'
import type { MailAttachment, MailEvent } from './schemas.ts'

const MAX_FILES = 8
const MAX_NAME_CHARACTERS = 200

/** Writes a mail's attachments into the agent's workspace; lists a file that cannot be stored with the reason. */
export async function keepMailFiles(
  deps: Omit<AttachDeps, 'clock'>,
  agentId: string,
  attachments: readonly MailAttachment[],
): Promise<MailFile[]> {
  const files: MailFile[] = []
  for (const [index, attachment] of attachments.entries()) files.push(await keepOne(deps, agentId, attachment, index))
  return files
}

async function keepOne(
  deps: Omit<AttachDeps, 'clock'>,
  agentId: string,
  { filename, content_type: mediaType, content }: MailAttachment,
  index: number,
): Promise<MailFile> {
  const name = filename.slice(0, MAX_NAME_CHARACTERS) || `file-${index + 1}`
  const lost = (problem: string) => ({ name, path: null, textPath: null, mediaType, sizeBytes: 0, problem })
  if (index >= MAX_FILES) return lost(`A mail has at most ${MAX_FILES} files`)
  if (content === null) return lost('The mail service did not send it')
  try {
    const bytes = Buffer.from(content, 'base64')
    const { kept } = await keepFile(deps, { kind: 'operator' }, agentId, { name, bytes })
    const { path, textPath, sizeBytes } = kept
    return { name, path, textPath, mediaType: kept.mediaType, sizeBytes, problem: null }
  } catch (error) {
    if (error instanceof AppError) return lost(error.message)
    throw error
  }
}

const MAX_TEXT_CHARACTERS = 5000

/**
 * Returns the first 5,000 characters of a mail's readable text, or an empty text. The plain part replaces an HTML part
 * that is too expensive to read.
 * @throws AppError `unavailable` while too many mails are being read: the mail service then resends the event.
 */
export async function readBody(
  deps: { log: Log; mailReader: Pick<MailReader, 'toText'> },
  { html, text }: Pick<MailEvent['data'], 'html' | 'text'>,
): Promise<string> {
  if (!html) return shorten(text ?? '')
  try {
    return shorten(await deps.mailReader.toText(html))
  } catch (error) {
    if (error instanceof AppError && error.kind === 'unavailable') throw error
    deps.log.warn({ error: errorMessage(error) }, 'the HTML of a mail cannot be read')
    return shorten(text ?? '')
  }
}

function shorten(text: string): string {
  // A character has at most two UTF-16 code units.
  return [...text.trim().slice(0, 2 * MAX_TEXT_CHARACTERS)].slice(0, MAX_TEXT_CHARACTERS).join('')
}
