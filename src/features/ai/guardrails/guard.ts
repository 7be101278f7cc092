import type { Egress } from '../../../adapters/egress/egress.ts'
import { AppError } from '../../../core/errors.ts'
import type { JsonObject } from '../../../core/json/json-object.ts'
import type { Guardrails } from '../../accounts/guardrails/schemas.ts'
import { askGuardWebhook } from './ask-webhook.ts'
import { mapAnswerTexts, mapRequestTexts } from './body-texts.ts'
import { cleanText, compileTextRules, type TextRules } from './scan.ts'

type MapTexts = (body: JsonObject, rewrite: (text: string) => string) => JsonObject
type Direction = 'input' | 'output'

/** The call that texts belong to, as webhooks see it. */
export type GuardedCall = { model: string | null; keyId: string | null; agentId: string | null; signal: AbortSignal }

/** The compiled rules of one key or agent. */
export type Guard = {
  settings: Guardrails
  rules: TextRules
  checksOutput: boolean
  /** Returns a request with the replacements of the rules. @throws AppError `invalid` GUARDRAIL_BLOCKED. */
  checkInput(body: JsonObject, call: GuardedCall): Promise<JsonObject>
  /** Returns a whole answer with the replacements of the rules. @throws AppError `invalid` GUARDRAIL_BLOCKED. */
  checkOutput(body: JsonObject, call: GuardedCall): Promise<JsonObject>
  /**
   * Returns the texts of an answer as changed by the webhook; null without a webhook.
   * @throws AppError `invalid` GUARDRAIL_BLOCKED.
   */
  judgeOutput: ((texts: readonly string[], call: GuardedCall) => Promise<readonly string[]>) | null
}

export function createGuard(guardrails: Guardrails, egress: Egress): Guard {
  const rules = compileTextRules(guardrails)
  const { webhook, maxInputChars, onInput, onOutput } = guardrails

  const judge = async (direction: Direction, texts: readonly string[], { signal, ...call }: GuardedCall) => {
    if (!webhook || texts.length === 0) return texts
    const verdict = await askGuardWebhook(egress, webhook, { direction, ...call, texts }, signal)
    if (verdict.action === 'block') throw blocked(direction, verdict.reason ?? 'the guardrail webhook refused it')
    if (verdict.action === 'rewrite') return verdict.texts
    if (verdict.action === 'failed' && webhook.onFailure === 'closed')
      throw blocked(direction, 'the guardrail webhook gave no valid answer')
    return texts
  }
  const check = async (direction: Direction, mapTexts: MapTexts, body: JsonObject, call: GuardedCall) => {
    const texts: string[] = []
    const clean = mapTexts(body, (text) => {
      const passed = requireClean(direction, cleanText(rules, text))
      texts.push(passed)
      return passed
    })
    const judged = await judge(direction, texts, call)
    if (judged === texts) return clean
    const rest = judged.values()
    return mapTexts(clean, (text) => rest.next().value ?? text)
  }
  return {
    settings: guardrails,
    rules,
    checksOutput: onOutput,
    async checkInput(body, call) {
      if (maxInputChars !== null && countCharacters(body) > maxInputChars)
        throw blocked('input', `it has more than ${maxInputChars} characters`)
      return onInput ? check('input', mapRequestTexts, body, call) : body
    },
    checkOutput: async (body, call) => (onOutput ? check('output', mapAnswerTexts, body, call) : body),
    judgeOutput: webhook && onOutput ? (texts, call) => judge('output', texts, call) : null,
  }
}

/** Creates the lookup of compiled guardrails. Rows stay the same object until they change, so each is compiled once. */
export function createGuardFinder(egress: Egress): (guardrails: Guardrails | null) => Guard | null {
  const compiled = new WeakMap<Guardrails, Guard>()
  return (guardrails) => {
    if (guardrails === null) return null
    const guard = compiled.get(guardrails) ?? createGuard(guardrails, egress)
    compiled.set(guardrails, guard)
    return guard
  }
}

function countCharacters(body: JsonObject): number {
  let characters = 0
  mapRequestTexts(body, (text) => {
    characters += text.length
    return text
  })
  return characters
}

/** Returns the text. @throws AppError `invalid` GUARDRAIL_BLOCKED when it contains a denied pattern. */
export function requireClean(direction: Direction, { text, denied }: { text: string; denied: string | null }): string {
  if (denied !== null) throw blocked(direction, 'it contains a denied pattern')
  return text
}

function blocked(direction: Direction, reason: string): AppError {
  const subject = direction === 'input' ? 'The request' : 'The answer'
  return new AppError('invalid', `${subject} was blocked by a guardrail: ${reason}`, { code: 'GUARDRAIL_BLOCKED' })
}
