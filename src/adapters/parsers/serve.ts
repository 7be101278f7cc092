import type { z } from 'zod'
import { type Channel, type ChannelFunctions, openChannel } from '../files/channel.ts'

/** Asks the parent a question of the running job. */
export type AskParent = <T>(answer: z.ZodType<T>, question: unknown) => Promise<T>

/**
 * Runs in the process that `startParser` starts: answers requests from standard input on standard output until standard
 * input ends.
 */
export async function serveParser(openParser: (ask: AskParent) => ChannelFunctions): Promise<void> {
  // Ctrl-C and systemd signal the whole group; the server finishes its open requests first and then stops its parsers.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
  const write = async (text: string) => void (await Bun.write(Bun.stdout, text))
  const ask: AskParent = (answer, question) => channel.call(answer, 'ask', question)
  const functions = { ready: async () => null, ...openParser(ask) }
  const channel: Channel = openChannel({ input: Bun.stdin.stream(), write }, functions)
  await channel.ended
}
