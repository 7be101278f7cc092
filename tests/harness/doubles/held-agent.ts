import { onTestFinished } from 'bun:test'
import { startAgentDouble } from './agent.ts'

/** An agent until the test ends that says `Done.`, at once or when it is let go, or refuses with a status. */
export function startHeldAgentDouble(port = 0) {
  const prompts: string[] = []
  let gate: PromiseWithResolvers<void> | null = null
  let status = 200
  const double = startAgentDouble(async ({ message }) => {
    prompts.push(message)
    await gate?.promise
    return status === 200 ? 'Done.' : Response.json({ error: { message: `the agent says ${status}` } }, { status })
  }, port)
  const letGo = () => {
    gate?.resolve()
    gate = null
  }
  const stop = async () => {
    letGo()
    await double[Symbol.asyncDispose]()
  }
  onTestFinished(stop)
  return {
    port: double.port,
    prompts,
    /** From now on nothing is answered until `letGo`. */
    hold: () => {
      gate = Promise.withResolvers()
    },
    letGo,
    answerWith: (next: number) => {
      status = next
    },
    stop,
  }
}
