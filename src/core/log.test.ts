import { expect, test } from 'bun:test'
import { createLog, redact } from './log.ts'

/** Strings that must not appear in a log; each describes itself. */
const SECRETS = [
  'sk_9fK2mQ8xVb3TzR7wYc5LpA1d',
  'rnd_9fK2mQ8xVb3TzR7wYc5LpA1d',
  'agt_9fK2mQ8xVb3TzR7wYc5LpA1d',
  'gw_9fK2mQ8xVb3TzR7wYc5LpA1d',
  'sk-or-v1-0123456789abcdef0123456789abcdef',
  'sk-ant-api03-AbCdEfGhIjKlMnOpQrStUv_wXyZ-0123456789',
  'sk-proj-AbCdEfGhIjKlMnOp_QrStUv-wXyZ0123456789',
  'gsk_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789',
  'AIzaSyA1234567890abcdefghijklmnopqrstuv',
]

/** Texts through which a secret has reached a log. */
const PLACES: ((secret: string) => string)[] = [
  (secret) => secret,
  (secret) => `call failed with ${secret} in it`,
  (secret) => `key=${secret}&next=1`,
  (secret) => `first line\n${secret}\nlast line`,
  (secret) => `tab\t${secret}`,
  (secret) => `colour \u001b[31m${secret}`,
  (secret) => `escape \u001b${secret}`,
  (secret) => JSON.stringify({ body: { apiKey: secret } }),
  (secret) => `authorization: Bearer ${secret}`,
  (secret) => `said "Bearer ${secret}" twice`,
]

test('redact removes every known secret from any text', () => {
  for (const secret of SECRETS) {
    for (const place of PLACES) {
      const [line = ''] = linesOf((log) => log.info({ nested: { deep: { text: place(secret) } } }, place(secret)))
      expect(line).not.toContain(secret.slice(8))
      expect(line).toContain('[redacted]')
      expect(() => JSON.parse(line)).not.toThrow()
    }
  }
})

test('createLog removes the user information of URLs in messages and fields', () => {
  const url = 'https://ada:se"cret@example.com/path'
  const [line = ''] = linesOf((log) => log.info({ url, error: `cannot reach ${url}` }, `at ${url}`))
  const clean = 'https://example.com/path'
  expect(JSON.parse(line)).toMatchObject({ url: clean, error: `cannot reach ${clean}`, msg: `at ${clean}` })
})

test('createLog masks fields by name when they hold secrets', () => {
  const fields = { password: 'a', token: 'b', apiKey: 'c', cookie: 'd', gatewayToken: 'e', accessToken: 'f' }
  const [line = ''] = linesOf((log) => log.info({ ...fields, user: fields }))
  for (const name of Object.keys(fields)) {
    expect(JSON.parse(line)).toMatchObject({ [name]: '[redacted]', user: { [name]: '[redacted]' } })
  }
})

test('createLog masks the whole value when a field has a secret name, at any depth', () => {
  const deep = { list: [{ token: { value: 'a', more: ['b'] }, name: 'kept' }], text: '"token":"of a message"' }
  const [line = ''] = linesOf((log) => log.info({ deep, key: ['c'] }, 'say "key": d'))
  const shown = { deep: { list: [{ token: '[redacted]', name: 'kept' }], text: '"token":"of a message"' } }
  expect(JSON.parse(line)).toMatchObject({ ...shown, key: '[redacted]', msg: 'say "key": d' })
  expect(line).toEndWith('}\n')
})

test('redact leaves ordinary text unchanged', () => {
  for (const text of ['agents_by_owner', 'task_1', 'a risk_assessment_of_something', 'bearer of bad news', 'sk_']) {
    expect(redact(text)).toBe(text)
  }
})

test('createLog writes one JSON object with level, time and message per line', () => {
  const lines = linesOf((log) => {
    log.info({ agent: 'a1' }, 'two\nlines')
    log.debug('below the level')
  })
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0] ?? '')).toEqual({ level: 30, time: expect.any(String), agent: 'a1', msg: 'two\nlines' })
})

function linesOf(write: (log: ReturnType<typeof createLog>) => void): string[] {
  const lines: string[] = []
  write(createLog('info', { write: (line) => void lines.push(line) }))
  return lines
}
