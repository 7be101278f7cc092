import { expect, test } from 'bun:test'
import { describeSignInError, LoginSearch } from './return-path.ts'

test('LoginSearch: only a path of this site is a way back', () => {
  expect(LoginSearch.parse({ redirect: '/cost?period=30d' }).redirect).toBe('/cost?period=30d')
  for (const redirect of ['//evil.example', '/\\evil.example', 'https://evil.example', 'javascript:alert(1)', 7]) {
    expect(LoginSearch.parse({ redirect }).redirect).toBeUndefined()
  }
})

test('describeSignInError: an unknown code is never repeated', () => {
  expect(describeSignInError('IdpNoEmail')).toContain('email')
  expect(describeSignInError('<b>pay here</b>')).toBe('Sign-in failed. Try again.')
})
