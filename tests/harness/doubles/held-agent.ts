import { onTestFinished } from 'bun:test'
import { startAgentDouble } from './agent.ts'

/**
 * Starts an agent for the rest of the test that answers `Done.`, immediately or when released, or with an error status.
 */
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
    /** Delays all responses until `letGo`. */
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
