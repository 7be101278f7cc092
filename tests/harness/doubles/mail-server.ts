import { SMTPServer } from 'smtp-server'

/** A parsed mail; `raw` is the text received over SMTP. */
export type ReceivedMail = { from: string; to: string[]; subject: string; text: string; html: string; raw: string }

export type MailServer = AsyncDisposable & {
  /** The value of `SMTP_URL`. */
  readonly url: string
  /** Received mails, oldest first. */
  readonly received: ReceivedMail[]
  /** Returns the link in the newest mail to `address`. @throws Error when there is none. */
  linkTo(address: string): URL
  /** Rejects every mail with a temporary error, until called with null. */
  refuse(reason: string | null): void
}

/** Starts an SMTP server on a free port of loopback: `await using mail = await startMailServer()`. */
export async function startMailServer(): Promise<MailServer> {
  const received: ReceivedMail[] = []
  let refusal: string | null = null
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    onData(stream, session, done) {
      let raw = ''
      stream.on('data', (bytes: Buffer) => {
        raw += bytes.toString('latin1')
      })
      stream.on('end', () => {
        if (refusal !== null) return done(new Error(refusal))
        const { mailFrom, rcptTo } = session.envelope
        const envelope = { from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address) }
        received.push({ ...envelope, ...readMessage(raw), raw })
        done()
      })
    },
  })
  server.on('error', () => undefined)
  const listening = server.listen(0, '127.0.0.1')
  await new Promise<void>((resolve) => listening.once('listening', resolve))
  const address = listening.address()
  const port = typeof address === 'object' && address ? address.port : 0

  return {
    url: `smtp://127.0.0.1:${port}`,
    received,
    linkTo(address) {
      const mail = received.findLast(({ to }) => to.includes(address))
      const [link] = /https?:\/\/\S+/.exec(mail?.text ?? '') ?? []
      if (!link) throw new Error(`No mail with a link has come to ${address}`)
      return new URL(link)
    },
    refuse(reason) {
      refusal = reason
    },
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

/** Parses the headers, and the text and HTML parts of `multipart/alternative` (RFC 2046). */
function readMessage(raw: string): Pick<ReceivedMail, 'subject' | 'text' | 'html'> {
  const { headers, body } = split(raw)
  const boundary = /boundary="?([^";]+)"?/i.exec(headers.get('content-type') ?? '')?.[1]
  const parts = boundary ? body.split(`--${boundary}`).slice(1, -1).map(split) : []
  const find = (type: string) => parts.find((part) => part.headers.get('content-type')?.startsWith(type))
  return {
    subject: headers.get('subject') ?? '',
    text: decode(find('text/plain')),
    html: decode(find('text/html')),
  }
}

type Part = { headers: Map<string, string>; body: string }

function split(raw: string): Part {
  const text = raw.replace(/^\r\n/, '')
  const end = text.indexOf('\r\n\r\n')
  const lines = text
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
  })
  return { headers: new Map(headers), body: text.slice(end + 4) }
}

function decode(part: Part | undefined): string {
  if (!part) return ''
  const encoding = part.headers.get('content-transfer-encoding')
  if (encoding === 'base64') return Buffer.from(part.body, 'base64').toString()
  if (encoding !== 'quoted-printable') return Buffer.from(part.body, 'latin1').toString()
  const bytes = part.body
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/gi, (_match, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}
