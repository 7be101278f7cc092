import { expect, test } from 'bun:test'
import { z } from 'zod'
import { configObject } from './config-object.ts'

const Settings = configObject({ model: z.string().optional(), telegramToken: z.string().optional() })
const messageOf = (value: unknown) => Settings.safeParse(value).error?.issues[0]?.message

test('configObject accepts known settings', () => {
  expect(Settings.parse({ model: 'a' })).toEqual({ model: 'a' })
})

test('configObject names the nearest setting when one is misspelt', () => {
  expect(messageOf({ modle: 'a' })).toBe('Unknown setting modle. Did you mean model?')
  expect(messageOf({ telegramTokn: 'a', modle: 'b' })).toBe(
    'Unknown setting telegramTokn. Did you mean telegramToken? Unknown setting modle. Did you mean model?',
  )
})

test('configObject names the nearest setting and all others when nothing is near', () => {
  expect(messageOf({ colour: 'red' })).toBe(
    'Unknown setting colour. The nearest is model; known: model, telegramToken.',
  )
})

test('configObject describes ten unknown settings and counts the rest when there are more', () => {
  const names = Array.from({ length: 12 }, (_, index) => `modle${index}`)
  const message = messageOf(Object.fromEntries(names.map((name) => [name, 'a'])))
  expect(message).toContain('Unknown setting modle9.')
  expect(message).not.toContain('modle10')
  expect(message).toEndWith(' 2 more settings are unknown.')
})
