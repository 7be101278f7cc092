/** Headers of a mail in order, as its service reports them. */
export type MailHeaders = readonly (readonly [string, unknown])[]

const MESSAGE_ID = /<[^<>\s]{1,250}>/g
const MAX_REFERENCES = 20
/** Lines have at most 998 characters (RFC 5322, 2.1.1); some services send headers of several lines. */
const MAX_HEADER_CHARACTERS = 10_000
const UNREADABLE = 'permerror'
/** Senders that do not read replies. */
const UNREAD_SENDER =
  /^(?:mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?|owner-.*|.*-(?:request|bounces?))$/i
const LIST_HEADERS = ['list-id', 'list-post', 'list-unsubscribe', 'list-help', 'list-owner'] as const

/** Thread of a mail; `threadId` is its first mail, null if the service reports no ids. */
export type MailThread = { messageId: string | null; references: string[]; threadId: string | null }

/** Reads the thread by RFC 5322, 3.6.4. `reported` is the message id that the service reports besides the headers. */
export function readThread(headers: MailHeaders, told: string | null): MailThread {
  const [messageId = null] = readIds(findHeader(headers, 'message-id') ?? told)
  const named = readIds(findHeader(headers, 'references'))
  const references = named.length > 0 ? named : readIds(findHeader(headers, 'in-reply-to')).slice(0, 1)
  const bounded =
    references.length > MAX_REFERENCES
      ? [...references.slice(0, 1), ...references.slice(1 - MAX_REFERENCES)]
      : references
  return { messageId, references: bounded, threadId: references[0] ?? messageId }
}

/**
 * Returns why a mail must not be answered automatically (RFC 3834, 2; RFC 5230, 4.6), or null. Mail of programs, lists
 * and bulk senders is never answered, to prevent loops.
 */
export function describeAutomatic(headers: MailHeaders, sender: string): string | null {
  const value = (name: string) => findHeader(headers, name)?.trim().toLowerCase()
  const submitted = value('auto-submitted')
  if (submitted !== undefined && submitted !== '' && !/^no\b/.test(submitted)) return 'It was written by a program'
  if (/\b(?:bulk|junk|list)\b/.test(value('precedence') ?? '')) return 'It was sent in bulk'
  if (LIST_HEADERS.some((name) => value(name) !== undefined)) return 'It came by a mailing list'
  if (value('return-path') === '<>') return 'Its sender wants nothing back'
  if (/\b(?:all|autoreply)\b/.test(value('x-auto-response-suppress') ?? ''))
    return 'Its sender wants no automatic answer'
  if (/^multipart\/report\b/.test(value('content-type') ?? '')) return 'It is a report of a mail server'
  if (UNREAD_SENDER.test(sender.slice(0, sender.lastIndexOf('@')))) return 'Nobody reads what comes back to its sender'
  return null
}

/**
 * Returns the DMARC result in lower case, such as `pass` or `none`; null if the service reports none (RFC 8601, 2.2).
 * Only the beginning of a result counts, because the rest may quote the sender. Of several results one that is not
 * `pass` counts. A header that is too long or ends inside quotes or a comment is `permerror`.
 */
export function readDmarc(authentication: string | null): string | null {
  if (authentication === null) return null
  const plain = authentication.length <= MAX_HEADER_CHARACTERS ? withoutQuotesAndComments(authentication) : null
  if (plain === null) return UNREADABLE
  const results = plain.split(';').flatMap((result) => /^\s*dmarc(?:\s*\/\s*\d+)?\s*=\s*(\w+)/i.exec(result)?.[1] ?? [])
  const found = results.map((result) => result.toLowerCase())
  return found.find((result) => result !== 'pass') ?? found[0] ?? null
}

/**
 * Replaces quoted strings and comments (RFC 5322, 3.2.2 and 3.2.4) by a space each; null for a text that ends inside
 * one.
 */
function withoutQuotesAndComments(text: string): string | null {
  let plain = ''
  let isQuoted = false
  let depth = 0
  for (let index = 0; index < text.length; index++) {
    const character = text.charAt(index)
    const isInside = isQuoted || depth > 0
    if (isInside && character === '\\') index++
    else if (character === '"' && depth === 0) {
      isQuoted = !isQuoted
      if (!isQuoted) plain += ' '
    } else if (isQuoted) continue
    else if (character === '(') depth++
    else if (character === ')' && depth > 0) {
      depth--
      if (depth === 0) plain += ' '
    } else if (!isInside) plain += character
  }
  return isQuoted || depth > 0 ? null : plain
}

/**
 * Returns the Authentication-Results header of the service with this authserv-id, the newest of several (RFC 8601, 2.2
 * and 5); without an id the first one. A sender can write such headers too, so others do not count.
 */
export function findAuthentication(headers: MailHeaders, authservId: string | undefined): string | null {
  const found = headers.flatMap(([name, value]) =>
    name.toLowerCase() === 'authentication-results' && typeof value === 'string' ? [value] : [],
  )
  if (authservId === undefined) return found[0] ?? null
  return found.find((value) => readAuthservId(value) === authservId) ?? `${authservId}; dmarc=none`
}

function readAuthservId(value: string): string | undefined {
  if (value.length > MAX_HEADER_CHARACTERS) return undefined
  return /^(?:\s|\((?:[^()\\]|\\.)*\))*"?([^\s;"()]+)/.exec(value)?.[1]?.toLowerCase()
}

function findHeader(headers: MailHeaders, name: string): string | null {
  const found = headers.find(([header]) => header.toLowerCase() === name)?.[1]
  return typeof found === 'string' ? found.slice(0, MAX_HEADER_CHARACTERS) : null
}

function readIds(text: string | null): string[] {
  return text?.slice(0, MAX_HEADER_CHARACTERS).match(MESSAGE_ID) ?? []
}
