import { z } from 'zod'
import { toVisible } from '../text/visible-text.ts'

export type LogFormat = 'pretty' | 'json'

const Line = z.looseObject({ level: z.number(), time: z.string(), msg: z.string().optional() })

/** SGR colour codes of terminals. */
const GRAY = 90
const LEVELS: Readonly<Record<number, { name: string; color: number }>> = {
  10: { name: 'trace', color: GRAY },
  20: { name: 'debug', color: 34 },
  30: { name: 'info', color: 32 },
  40: { name: 'warn', color: 33 },
  50: { name: 'error', color: 31 },
  60: { name: 'fatal', color: 35 },
}

/**
 * Returns one line of JSON log as a line for people: `14:05:09 warn  message key=value`, in the local time zone.
 * Text that is not a log line is returned unchanged.
 */
export function toPrettyLine(line: string, options: { hasColors: boolean }): string {
  const parsed = parseLine(line)
  if (parsed === null) return line
  const { level, time, msg, ...fields } = parsed
  const paint = (color: number, text: string) => (options.hasColors ? `\u001b[${color}m${text}\u001b[39m` : text)
  const { name, color } = LEVELS[level] ?? { name: String(level), color: GRAY }
  const described = Object.entries(fields).map(([key, value]) => `${toVisible(key)}=${toValue(value)}`)
  const words = [
    paint(GRAY, new Date(time).toTimeString().slice(0, 8)),
    paint(color, name.padEnd(5)),
    ...(msg === undefined ? [] : [toOneLine(msg)]),
    ...(described.length === 0 ? [] : [paint(GRAY, described.join(' '))]),
  ]
  return `${words.join(' ')}\n`
}

function parseLine(line: string): z.infer<typeof Line> | null {
  try {
    return Line.safeParse(JSON.parse(line)).data ?? null
  } catch {
    return null
  }
}

/** Escapes control characters, so foreign text can neither move the cursor nor fake a line. */
function toOneLine(text: string): string {
  return toVisible(text.replaceAll('\n', '\\n'))
}

function toValue(value: unknown): string {
  if (typeof value === 'string' && /^[^\s"=]+$/.test(value)) return toVisible(value)
  return toVisible(JSON.stringify(value))
}
