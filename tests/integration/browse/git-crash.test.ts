import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { roundsOf } from '../../harness/rounds.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { readLines } from '../../harness/wires/lines.ts'
import { fill } from './installation.ts'
import { git, HAS_GIT, initRepository } from './repository.ts'

const withGit = HAS_GIT ? test : test.skip
const KILLS = roundsOf('GIT_KILLS', 6)
const MAX_WAIT_MS = 120

withGit(
  `${KILLS} times killed in the middle of commits, the repository is whole and nothing holds up the next one`,
  async () => {
    using folder = tempFolder()
    const root = folder.file('work')
    initRepository(root)
    fill(root, { start: 'x' })
    git(root, ['add', '-A'])
    git(root, ['commit', '-q', '-m', 'start'])
    const script = Bun.fileURLToPath(import.meta.resolve('./committer.ts'))
    let commits = 1
    for (let kill = 0; kill < KILLS; kill++) {
      const child = Bun.spawn([process.execPath, script, root], { stdout: 'pipe', stderr: 'inherit' })
      expect((await readLines(child.stdout).next()).value).toBe('committed')
      // Spreads the kills over the next commits.
      await Bun.sleep((MAX_WAIT_MS * kill) / KILLS)
      child.kill('SIGKILL')
      await child.exited
      git(root, ['fsck', '--full', '--strict'])
      expect(existsSync(join(root, '.git/index.lock'))).toBe(false)
      const now = Number(git(root, ['rev-list', '--count', 'HEAD']))
      expect(now).toBeGreaterThan(commits)
      commits = now
    }
    git(root, ['add', '-A'])
    git(root, ['commit', '-q', '--allow-empty', '-m', 'end'])
    console.log(`git: ${KILLS} kills, ${commits} commits, fsck finds nothing`)
  },
  300_000,
)
