import { type Logger, pino, stdTimeFunctions } from 'pino'
import { createLogOutput } from './log/output.ts'
import { withoutUserinfo } from './text/url-userinfo.ts'

export type Log = Logger

const SECRET_FIELDS = new Set([
  'password',
  'token',
  'key',
  'apiKey',
  'secret',
  'authorization',
  'cookie',
  'signature',
  'gatewayToken',
  'accessToken',
])
const SECRET_KEYS = [...SECRET_FIELDS].map((name) => `"${name}":`)
/**
 * A token at the start of a word or after an escape such as `\n` or a colour, because the text is masked after it became JSON,
 * or what follows `Bearer`.
 */
const SECRET_TEXT =
  /(?<=^|[^A-Za-z0-9_]|\\[bfnrt]|\\u[0-9a-f]{4}|\\u001b\[[0-9;]*m)(sk_|rnd_|agt_|gw_|gsk_|AIza|sk-[a-z]{0,8}-?)[A-Za-z0-9_-]{12,}|(Bearer\s+)[^\s"',\\]+/g

/** Masks what looks like one of our tokens, a provider's key, a bearer or the userinfo of a URL, wherever it stands. */
export function redact(text: string): string {
  return withoutUserinfo(text).replace(
    SECRET_TEXT,
    (_match, prefix: string | undefined, bearer: string | undefined) => `${bearer ?? prefix ?? ''}[redacted]`,
  )
}

/** A line of JSON without what stands in fields that are named like secrets, at whatever depth. Few lines have one. */
function maskSecretFields(line: string): string {
  if (!SECRET_KEYS.some((key) => line.includes(key))) return line
  const masked = JSON.parse(line, (name, value) => (SECRET_FIELDS.has(name) ? '[redacted]' : value))
  return `${JSON.stringify(masked)}\n`
}

/** JSON lines on standard output; named fields and anything that looks like a token are masked, URLs lose their userinfo. */
export function createLog(level: string, destination?: { write(line: string): void }): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      hooks: { streamWrite: (line) => redact(maskSecretFields(line)) },
    },
    destination ?? createLogOutput(undefined),
  )
}
