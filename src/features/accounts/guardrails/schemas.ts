import { z } from 'zod'

/** Kinds of personal data and secrets that can be replaced. */
export const REDACTIONS = ['email', 'phone', 'card', 'iban', 'keys'] as const
export type Redaction = (typeof REDACTIONS)[number]

const MAX_PATTERNS = 100
const MAX_PATTERN_CHARACTERS = 200
const MAX_INPUT_CHARACTERS = 10_000_000
const MAX_WEBHOOK_MS = 30_000

const badDeny = `guardrails.deny must be a list of up to ${MAX_PATTERNS} texts of 1 to ${MAX_PATTERN_CHARACTERS} characters, not only * and spaces`
const badRedact = `guardrails.redact must be a list of ${REDACTIONS.join(', ')}`
const badSize = `guardrails.maxInputChars must be a whole number from 1 to ${MAX_INPUT_CHARACTERS}`
const badUrl = 'guardrails.webhook.url must be an http or https URL'
const badTimeout = `guardrails.webhook.timeoutMs must be a whole number from 100 to ${MAX_WEBHOOK_MS}`
const badFailure = 'guardrails.webhook.onFailure must be open or closed'

const Pattern = z
  .string(badDeny)
  .trim()
  .max(MAX_PATTERN_CHARACTERS, badDeny)
  .refine((text) => /[^*\s]/.test(text), badDeny)

/** The webhook that judges texts. `open` lets a text pass when the webhook fails, `closed` blocks it. */
const GuardWebhook = z.object(
  {
    url: z.url({ protocol: /^https?$/, error: badUrl }).max(2000, badUrl),
    timeoutMs: z.int(badTimeout).min(100, badTimeout).max(MAX_WEBHOOK_MS, badTimeout).default(3000),
    onFailure: z.enum(['open', 'closed'], badFailure).default('closed'),
  },
  'guardrails.webhook must be {url, timeoutMs, onFailure}',
)

/**
 * Rules for the texts of model calls. `deny` blocks a call whose text contains a pattern, `redact` replaces personal
 * data, `maxInputChars` limits the input, and the webhook may block or rewrite. `onInput` and `onOutput` select what is
 * checked.
 */
export const Guardrails = z.object(
  {
    deny: z.array(Pattern, badDeny).max(MAX_PATTERNS, badDeny).default([]),
    redact: z.array(z.enum(REDACTIONS, badRedact), badRedact).max(REDACTIONS.length, badRedact).default([]),
    maxInputChars: z.int(badSize).min(1, badSize).max(MAX_INPUT_CHARACTERS, badSize).nullable().default(null),
    webhook: GuardWebhook.nullable().default(null),
    onInput: z.boolean('guardrails.onInput must be true or false').default(true),
    onOutput: z.boolean('guardrails.onOutput must be true or false').default(true),
  },
  'guardrails must be an object',
)
export type Guardrails = z.infer<typeof Guardrails>
