import type { MailReader } from '../../../adapters/mail/reader.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { MailEvent } from './schemas.ts'

const MAX_TEXT_CHARACTERS = 5000

export type BodyDeps = { mailReader: Pick<MailReader, 'toText'>; log: Log }

/**
 * Returns the readable text of a mail, its first 5,000 characters; empty without one. The plain part replaces an HTML part
 * that takes too much to read.
 * @throws AppError `unavailable` while too many mails are being read: the mail service sends the event again.
 */
export async function readBody(
  deps: BodyDeps,
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
  // A character has at most two units.
  return [...text.trim().slice(0, 2 * MAX_TEXT_CHARACTERS)].slice(0, MAX_TEXT_CHARACTERS).join('')
}
