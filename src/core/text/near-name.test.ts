import { expect, test } from 'bun:test'
import { findNearName } from './names.ts'

const KNOWN = ['HOST', 'WEB_PORT', 'APP_URL', 'LOG_LEVEL', 'SUMMARIZER_ALLOW_PRIVATE', 'OPENAI_API_KEY']

test.each([
  ['WEB_PRT', 'WEB_PORT'],
  ['WEB_PROT', 'WEB_PORT'],
  ['WEB_PORTS', 'WEB_PORT'],
  ['WEBPORT', 'WEB_PORT'],
  ['HSOT', 'HOST'],
  ['SUMARIZER_ALLOW_PRIVAT', 'SUMMARIZER_ALLOW_PRIVATE'],
  ['OPENAI_APIKEY', 'OPENAI_API_KEY'],
])('findNearName finds, when given %s, the name %s', (given, meant) => {
  expect(findNearName(given, KNOWN)).toBe(meant)
})

test.each(['HOME', 'PORT', 'DB_PORT', 'PATH', 'HOSTNAME', 'OPENAI_API_BASE', 'LOGNAME', ''])(
  'findNearName returns null when given %s',
  (given) => {
    expect(findNearName(given, KNOWN)).toBeNull()
  },
)
