import { expect, test } from 'bun:test'
import { messageFor, toApiError } from './request.ts'

test('messageFor explains an expired session and keeps the message of a wrong password', async () => {
  const refuse = async (error: string) => messageFor(await toApiError(Response.json({ error }, { status: 401 })))
  expect(await refuse('Unauthorized')).toBe(
    'You are signed out. Sign in in another tab, then try again. Your input is kept here.',
  )
  expect(await refuse('Invalid email or password')).toBe('Invalid email or password')
})
