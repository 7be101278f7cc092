import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'

/** True if git is installed, to compare with. */
export const HAS_GIT = spawnSync('git', ['--version']).status === 0

/** A fixed author, without the user's git configuration. */
export const IDENTITY = {
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
}

/** Runs git. @throws Error with its output when it fails. */
export function git(folder: string, args: string[], options: { input?: string; dates?: string } = {}): string {
  const dates = options.dates ? { GIT_AUTHOR_DATE: options.dates, GIT_COMMITTER_DATE: options.dates } : {}
  const result = spawnSync('git', args, {
    cwd: folder,
    input: options.input,
    env: { ...process.env, ...IDENTITY, ...dates },
    maxBuffer: 64 * 1024 * 1024,
  })
  if (result.status !== 0) throw new Error(`git ${args.join(' ')}: ${result.stderr}`)
  return result.stdout.toString()
}

/** Creates a repository on the branch `main`. */
export function initRepository(folder: string, ...options: string[]): void {
  mkdirSync(folder, { recursive: true })
  git(folder, ['init', '-q', '-b', 'main', ...options])
}
