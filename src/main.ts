import { endOnUncaught, exitWith } from './cli/exit.ts'
import { createProgram, toArguments } from './cli/program.ts'

endOnUncaught()
try {
  const program = createProgram()
  await program.parseAsync(toArguments(program, process.argv.slice(2)), { from: 'user' })
} catch (error) {
  exitWith(error)
}
