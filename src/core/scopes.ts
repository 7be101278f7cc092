import { AppError } from './errors.ts'

/** What a key can be limited to. `read` looks and changes nothing; the others act, each in its own part. */
export const SCOPES = ['read', 'agents', 'models', 'payments'] as const
export type Scope = (typeof SCOPES)[number]

/** What `models` was called before: keys have it and may still be given it, and it opens the same. */
export const FORMER_MODELS = 'ai'

/** First match decides; paths are those of the specification. What stands nowhere here needs a key without limits. */
const RULES: readonly [methods: RegExp, path: RegExp, Scope | 'any'][] = [
  // Every key may see what it has left, and what there is to ask.
  [/^(?:GET|HEAD)$/, /^\/api\/(?:me\/usage|models)$/, 'any'],
  [/./, /^\/(?:v1|api\/ai)(?:\/|$)/, 'models'],
  // Whoever has an agent's token is its owner to the agent: reading it is no mere look.
  [/^(?:GET|HEAD)$/, /^\/api\/(?:agents|instance)\/[^/]+\/token$/, 'agents'],
  // These lead to a page on which one pays.
  [/^(?:GET|HEAD)$/, /^\/api\/payments\//, 'payments'],
  [/^(?:GET|HEAD)$/, /./, 'read'],
  [
    /./,
    /^\/api\/(?:agents?|chat|memory|instance|provision|deployments|logs|scheduled-tasks|skills|swarms|heartbeat|installations|register-home|register-link)(?:\/|$)/,
    'agents',
  ],
  [/./, /^\/api\/(?:payments|billing|credits|ledger|subscriptions|wallet|x402|v1\/gateway)(?:\/|$)/, 'payments'],
]

/** The scope that a request needs, `any` when each is enough, or null when none is. */
export function scopeOf(method: string, path: string): Scope | 'any' | null {
  return RULES.find(([methods, paths]) => methods.test(method) && paths.test(path))?.[2] ?? null
}

/**
 * A key with no scopes may do whatever its owner may. A stored scope that this version does not know limits all the same.
 * @throws AppError `forbidden` SCOPE_REQUIRED when `scopes` are given and `needed` is not among them.
 */
export function requireScope(scopes: readonly string[], needed: Scope | 'any' | null): void {
  if (scopes.length === 0 || needed === 'any' || (needed && scopes.some((scope) => toScope(scope) === needed))) return
  const reason = needed ? `the scope ${needed}` : 'a key without limits'
  throw new AppError('forbidden', `This key is not allowed to do that: it takes ${reason}`, {
    code: 'SCOPE_REQUIRED',
    scope: needed,
  })
}

/** The scope that a name stands for, under whichever of its names; null for one that this version does not know. */
export function toScope(name: string): Scope | null {
  return name === FORMER_MODELS ? 'models' : (SCOPES.find((scope) => scope === name) ?? null)
}
