import type { Guard, GuardedCall } from './guard.ts'

/** A request to a model; `json` is the text of `body`. */
type GuardedRequest = {
  caller: { agentId: string; key: { id: string } | null }
  requested: { model?: string | undefined }
  body: Readonly<Record<string, unknown>>
  json: string
  signal: AbortSignal
}

/** Returns a request as the guardrails of its caller let it pass. @throws AppError `invalid` GUARDRAIL_BLOCKED. */
export async function guardRequest<Request extends GuardedRequest>(guard: Guard, request: Request): Promise<Request> {
  const body = await guard.checkInput(request.body, toGuardedCall(request))
  const json = JSON.stringify(body)
  return json === request.json ? request : { ...request, body, json }
}

/** Returns the JSON text of a whole answer as the guardrails let it pass. @throws AppError `invalid` GUARDRAIL_BLOCKED. */
export async function guardAnswer(guard: Guard, request: GuardedRequest, json: string): Promise<string> {
  return JSON.stringify(await guard.checkOutput(JSON.parse(json), toGuardedCall(request)))
}

export function toGuardedCall({ caller, requested, signal }: GuardedRequest): GuardedCall {
  const { agentId, key } = caller
  return { model: requested.model ?? null, keyId: key?.id ?? null, agentId: key ? null : agentId, signal }
}
