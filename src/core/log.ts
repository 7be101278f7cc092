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
 * Matches tokens at the start of a word or after an escape such as `\n` or a colour (the text is already JSON), and
 * values after `Bearer`.
 */
const SECRET_TEXT =
  /(?<=^|[^A-Za-z0-9_]|\\[bfnrt]|\\u[0-9a-f]{4}|\\u001b\[[0-9;]*m)(sk_|rnd_|agt_|gw_|gsk_|AIza|sk-[a-z]{0,8}-?)[A-Za-z0-9_-]{12,}|(Bearer\s+)[^\s"',\\]+/g

/** Masks tokens, provider keys, bearer values and the userinfo of URLs. */
export function redact(text: string): string {
  return withoutUserinfo(text).replace(
    SECRET_TEXT,
    (_match, prefix: string | undefined, bearer: string | undefined) => `${bearer ?? prefix ?? ''}[redacted]`,
  )
}

/** Masks fields with secret names at any depth of a JSON line. Parses only lines that contain one. */
function maskSecretFields(line: string): string {
  if (!SECRET_KEYS.some((key) => line.includes(key))) return line
  const masked = JSON.parse(line, (name, value) => (SECRET_FIELDS.has(name) ? '[redacted]' : value))
  return `${JSON.stringify(masked)}\n`
}

/** Creates the logger: JSON lines with secret fields, tokens and URL userinfo masked. */
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
