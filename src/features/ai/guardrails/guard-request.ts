import type { CompletionRequest } from '../gateway/request-body.ts'
import type { Guard, GuardedCall } from './guard.ts'

/** Returns a request as the guardrails of its caller let it pass. @throws AppError `invalid` GUARDRAIL_BLOCKED. */
export async function guardRequest(guard: Guard, request: CompletionRequest): Promise<CompletionRequest> {
  const body = await guard.checkInput(request.body, toGuardedCall(request))
  const json = JSON.stringify(body)
  return json === request.json ? request : { ...request, body, json }
}

/** Returns the JSON text of a whole answer as the guardrails let it pass. @throws AppError `invalid` GUARDRAIL_BLOCKED. */
export async function guardAnswer(guard: Guard, request: CompletionRequest, json: string): Promise<string> {
  return JSON.stringify(await guard.checkOutput(JSON.parse(json), toGuardedCall(request)))
}

export function toGuardedCall({ caller, requested, signal }: CompletionRequest): GuardedCall {
  const { agentId, key } = caller
  return { model: requested.model ?? null, keyId: key?.id ?? null, agentId: key ? null : agentId, signal }
}
