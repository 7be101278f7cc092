import { expect, test } from 'bun:test'
import { describeSignInError, LoginSearch } from './return-path.ts'

test('LoginSearch keeps a redirect only when it is a path of this site', () => {
  expect(LoginSearch.parse({ redirect: '/cost?period=30d' }).redirect).toBe('/cost?period=30d')
  for (const redirect of ['//evil.example', '/\\evil.example', 'https://evil.example', 'javascript:alert(1)', 7]) {
    expect(LoginSearch.parse({ redirect }).redirect).toBeUndefined()
  }
})

test('describeSignInError returns a generic message for an unknown code', () => {
  expect(describeSignInError('IdpNoEmail')).toContain('email')
  expect(describeSignInError('<b>pay here</b>')).toBe('Sign-in failed. Try again.')
})
