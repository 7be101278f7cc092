import { Command } from 'commander'
import { agentCommand } from './cli/agent.ts'
import { configCommand } from './cli/config.ts'
import { doctorCommand } from './cli/doctor.ts'
import { homeCommand } from './cli/home.ts'
import { linkCommand } from './cli/link.ts'
import { migrateCommand } from './cli/migrate.ts'
import { serveCommand } from './cli/serve.ts'
import { userCommand } from './cli/user.ts'
import { versionCommand } from './cli/version.ts'
import { StartupError } from './core/errors.ts'

/** `EX_CONFIG` of sysexits: starting again with the same settings cannot help. */
const BAD_CONFIGURATION = 78

const program = new Command('stead').description('Creates, runs and bills AI agents, each behind its own gateway.')
serveCommand(program)
agentCommand(program)
homeCommand(program)
linkCommand(program)
userCommand(program)
migrateCommand(program)
doctorCommand(program)
configCommand(program)
versionCommand(program)

try {
  await program.parseAsync()
} catch (error) {
  if (!(error instanceof StartupError)) throw error
  process.stderr.write(`stead: ${error.message}\n`)
  process.exit(BAD_CONFIGURATION)
}
