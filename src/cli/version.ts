import type { Command } from 'commander'
import { VERSION } from '../core/version.ts'
import { addExample } from './example.ts'

/** Adds `version`. */
export function versionCommand(program: Command): void {
  addExample(program.command('version'), 'stead version --json')
    .description('prints the version of Stead and of the Bun inside it')
    .option('--json', 'print one JSON document', false)
    .action(({ json }: { json: boolean }) => {
      const versions = { stead: VERSION, bun: Bun.version }
      process.stdout.write(json ? `${JSON.stringify(versions)}\n` : `${toVersionText()}\n`)
    })
}

/** Prints the version. */
export function toVersionText(): string {
  return `stead ${VERSION} (bun ${Bun.version})`
}
