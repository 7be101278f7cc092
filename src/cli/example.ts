import type { Command } from 'commander'

/** Ends the help of a command with `lines` that can be copied, and with `notes` when there is more to say. */
export function addExample(command: Command, lines: string, notes?: string): Command {
  const indented = lines.replace(/^/gm, '  ')
  return command.addHelpText('after', `\nExample:\n${indented}${notes ? `\n\n${notes}` : ''}`)
}
