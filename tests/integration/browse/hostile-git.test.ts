import { expect, test } from 'bun:test'
import { tempFolder } from '../../harness/temp-folder.ts'
import { openPlace, VECTORS } from './hostile-repositories.ts'
import { openFiles } from './installation.ts'
import { HAS_GIT, IDENTITY } from './repository.ts'

const withGit = HAS_GIT ? test : test.skip
withGit(
  'repositories that would run programs run none: status, diff, log, write and sync',
  async () => {
    const ran: string[] = []
    const failed: unknown[] = []
    for (const { name, arrange } of VECTORS) {
      const { get, post, folders } = await openFiles({ environment: { SUMMARIZER_ALLOW_PRIVATE: 'true' } })
      using place = openPlace(folders.root)
      arrange(place)
      const answers = [
        await get('git-status'),
        await get('git-diff'),
        await get('git-log'),
        await post('write', { path: 'other.txt', content: 'x' }),
        await post('git-sync', {}),
        await get('git-status'),
      ]
      const statuses = answers.map(({ status }) => status)
      if (statuses.some((status) => status !== 200))
        failed.push({ name, statuses, bodies: answers.map(({ body }) => body) })
      if (answers[4]?.body.committed !== true) failed.push({ name, sync: answers[4]?.body })
      ran.push(...place.markers().map((marker) => `${name}: ${marker}`))
    }
    expect(ran).toEqual([])
    expect(failed).toEqual([])
    console.log(`hostile repositories: ${VECTORS.length} configurations, 0 executions`)
  },
  300_000,
)

withGit(
  'they are no empty threats: the real program runs what these name',
  async () => {
    const quiet: string[] = []
    for (const { name, arrange, runsInGit } of VECTORS) {
      if (!runsInGit) continue
      using folder = tempFolder()
      using place = openPlace(folder.file('work'))
      arrange(place)
      for (const args of [
        ['status'],
        ['diff', '--ext-diff'],
        ['add', '-A'],
        ['commit', '-q', '-m', 'x'],
        ['push', 'origin', 'HEAD'],
      ]) {
        // Asynchronous, because some requests go to a server in this process.
        const child = Bun.spawn(['git', ...args], {
          cwd: place.folder,
          env: { ...process.env, ...IDENTITY, GIT_TERMINAL_PROMPT: '0' },
          stdout: 'ignore',
          stderr: 'ignore',
          timeout: 5000,
        })
        await child.exited
      }
      if (place.markers().length === 0) quiet.push(name)
    }
    expect(quiet).toEqual([])
  },
  300_000,
)
