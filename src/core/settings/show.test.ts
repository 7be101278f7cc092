import { expect, test } from 'bun:test'
import { listShownSettings, type SettingSources, showSettings, toSettingText } from './show.ts'

const find = (environment: Record<string, string>, sources: SettingSources, name: string) =>
  listShownSettings(environment, sources).find((setting) => setting.name === name)

test('listShownSettings returns each setting with group, description, value and source', () => {
  const environment = { WEB_PORT: '4000', LOG_LEVEL: 'warn', APP_URL: 'https://stead.example' }
  const sources = { WEB_PORT: 'flag', LOG_LEVEL: 'file', APP_URL: 'environment' } as const
  expect(find(environment, sources, 'WEB_PORT')).toEqual({
    name: 'WEB_PORT',
    group: 'Server',
    description: expect.any(String),
    value: '4000',
    isSecret: false,
    source: 'flag',
  })
  expect(find(environment, sources, 'LOG_LEVEL')).toMatchObject({ value: 'warn', source: 'file' })
  expect(find(environment, sources, 'APP_URL')).toMatchObject({ source: 'environment' })
  expect(find(environment, sources, 'SIGN_UP')).toMatchObject({ value: 'open', source: 'default' })
  expect(find(environment, sources, 'SMTP_URL')).toMatchObject({ value: null, source: 'none', isSecret: true })
})

test('listShownSettings returns the names and values of showSettings without secrets', () => {
  const environment = { OPENROUTER_API_KEY: 'canary', SMTP_URL: 'smtp://ada:canary@mail.example' }
  const listed = listShownSettings(environment, {})
  expect(Object.fromEntries(listed.map(({ name, value }) => [name, value ?? '']))).toEqual(
    Object.fromEntries(Object.entries(showSettings(environment)).map(([name, value]) => [name, toSettingText(value)])),
  )
  expect(JSON.stringify(listed)).not.toContain('canary')
})

test('listShownSettings returns the source secret-file when a secret comes from a file', () => {
  expect(find({}, { SMTP_URL_FILE: 'environment' }, 'SMTP_URL')).toMatchObject({ source: 'secret-file' })
})
