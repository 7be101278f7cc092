import type { Command } from 'commander'
import { VERSION } from '../core/version.ts'

/** Adds `version`. */
export function versionCommand(program: Command): void {
  program
    .command('version')
    .description('prints the version of Stead and of the Bun inside it')
    .option('--json', 'print one JSON document', false)
    .action(({ json }: { json: boolean }) => {
      const versions = { stead: VERSION, bun: Bun.version }
      process.stdout.write(json ? `${JSON.stringify(versions)}\n` : `stead ${versions.stead} (bun ${versions.bun})\n`)
    })
}
