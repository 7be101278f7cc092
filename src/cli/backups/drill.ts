import type { Command } from 'commander'
import { addExample } from '../example.ts'
import { readEnvironment } from '../settings/environment.ts'
import { toPlace, withLocal } from './places.ts'
import { createProgress } from './progress.ts'

/** Adds `backup drill`: proves that a backup can be restored, by doing it. */
export function drillCommand(backup: Command): void {
  addExample(
    backup.command('drill'),
    'stead backup drill',
    'Needs room for what is restored in TMPDIR. Exit codes: 0 all came back, 1 something did not.',
  )
    .description('restores a backup into a throw-away folder, opens it, and tells whether all came back')
    .argument('[file]', 'default: the newest of BACKUP_TO')
    .option('--json', 'print one JSON document', false)
    .action(async (name: string | undefined, { json }: { json: boolean }) => {
      const { readConfig } = await import('../../core/config.ts')
      const { systemClock } = await import('../../core/clock.ts')
      const { drillBackup, findNewest } = await import('../../server/backups/drill.ts')
      const { encryptionKey = null, backups } = readConfig(readEnvironment())
      const file = name === undefined ? await findNewest(backups) : toPlace(name)
      const keys = { givenKey: encryptionKey, passphrase: backups.passphrase ?? null }
      using progress = createProgress()
      const drill = await withLocal(file, (local) =>
        drillBackup({ clock: systemClock }, { ...keys, file: local }, progress.report),
      )
      progress[Symbol.dispose]()
      const { createdAt, agents, seconds, problems } = drill
      const text =
        problems.length === 0
          ? `${file} can be restored: made ${createdAt}, ${agents} agents, ${seconds} s\n`
          : problems.map((problem) => `✗ ${problem}\n`).join('')
      process.stdout.write(json ? `${JSON.stringify({ ...drill, file, ok: problems.length === 0 })}\n` : text)
      process.exitCode = problems.length === 0 ? 0 : 1
    })
}
