import { expect, test } from 'bun:test'
import { STEAD } from '../../tests/harness/server.ts'
import { until } from '../../tests/harness/until.ts'

/** Starts an agent without settings, which logs one warning, and returns the first line it writes. */
async function firstLine(settings: Record<string, string>, isTerminal: boolean): Promise<string> {
  const parts: string[] = []
  const take = (bytes: Uint8Array) => void parts.push(Buffer.from(bytes).toString())
  const child = Bun.spawn([...STEAD, 'agent'], {
    env: { PATH: process.env.PATH ?? '', PORT: '0', ...settings },
    stderr: 'ignore',
    ...(isTerminal
      ? { terminal: { cols: 200, rows: 24, data: (_, bytes) => take(bytes) } }
      : { stdin: 'ignore', stdout: 'pipe' }),
  })
  const reading =
    isTerminal || !(child.stdout instanceof ReadableStream)
      ? null
      : child.stdout.pipeTo(new WritableStream({ write: take }))
  const line = await until('a line', () => parts.join('').match(/^(.*?)\r?\n/)?.[1])
  child.kill('SIGKILL')
  await Promise.all([child.exited, reading])
  return line
}

const MESSAGE =
  'The agent waits for its settings: AGENT_MODEL, GATEWAY_TOKEN, PLATFORM_URL, PLATFORM_TOKEN are not set.'
const PRETTY = new RegExp(`^\\d\\d:\\d\\d:\\d\\d warn  ${MESSAGE}`)

test.each<[string, Record<string, string>, boolean]>([
  ['on a terminal', { NO_COLOR: '1', TERM: 'xterm' }, true],
  ['in a pipe with LOG_FORMAT=pretty', { LOG_FORMAT: 'pretty' }, false],
])('createLogOutput writes text when %s', async (_where, settings, isTerminal) => {
  expect(await firstLine(settings, isTerminal)).toMatch(PRETTY)
})

test.each<[string, Record<string, string>, boolean]>([
  ['in a pipe', {}, false],
  ['on a terminal with LOG_FORMAT=json', { LOG_FORMAT: 'json', TERM: 'xterm' }, true],
])('createLogOutput writes JSON when %s', async (_where, settings, isTerminal) => {
  expect(JSON.parse(await firstLine(settings, isTerminal))).toMatchObject({ level: 40, msg: MESSAGE })
})
