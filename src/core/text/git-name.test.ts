import { expect, test } from 'bun:test'
import { isGitName } from './names.ts'

test.each([
  '.git',
  '.GIT',
  '.gIt',
  '.git.',
  '.git ',
  '.git . .',
  'git~1',
  'GIT~12',
  '.git::$INDEX_ALLOCATION',
  '.git:config',
  '.g\u200cit',
  '\ufeff.git',
])('isGitName returns true when the name is %j', (name) => {
  expect(isGitName(name)).toBe(true)
})

test.each(['.gitignore', '.github', 'git', 'my.git', '.git-credentials.md', 'git~', '. git'])(
  'isGitName returns false when the name is %j',
  (name) => {
    expect(isGitName(name)).toBe(false)
  },
)
