import type { Command } from 'commander'
import { addExample } from './example.ts'

/** Adds `adopt`: makes this copy of an installation run the agents. */
export function adoptCommand(program: Command): void {
  addExample(
    program.command('adopt'),
    'DATA_DIR=/srv/stead stead adopt',
    `A copy of a data folder, or one on another machine, starts and shows everything, and leaves the agents alone. With this
command they are its own. The installation that had them must not run; when it is started again, it leaves them alone.`,
  )
    .description('makes this copy of an installation the one that has the agents')
    .option('--json', 'print one JSON document', false)
    .action(async ({ json }: { json: boolean }) => {
      const { withDatabase } = await import('./database.ts')
      const { takeOverAgents } = await import('../features/agents/ownership/takeover.ts')
      const { toHere } = await import('../server/open.ts')
      const { createProcessTable } = await import('../adapters/runtimes/process/table.ts')
      const { systemClock } = await import('../core/clock.ts')
      const takeover = await withDatabase(({ db }, config) =>
        takeOverAgents({ db, clock: systemClock, table: createProcessTable() }, toHere(config)),
      )
      process.stdout.write(json ? `${JSON.stringify(takeover)}\n` : toText(takeover.original))
    })
}

function toText(original: { path: string; isTold: boolean } | null): string {
  if (!original) return 'The agents are this installation’s own.\n'
  const text = `The agents of ${original.path} are this installation’s own now.\n`
  return original.isTold ? text : `${text}The original cannot be told: see to it that it is never started again.\n`
}
