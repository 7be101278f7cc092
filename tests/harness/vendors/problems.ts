import type { z } from 'zod'
import { VendorRefusal } from './script.ts'

/** Validates a body. @throws VendorRefusal with the vendor's message for the first problem. */
export function parseStrictly<T>(schema: z.ZodType<T>, body: unknown, wordsOf: (problem: Problem) => string): T {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const problem = deepest(parsed.error.issues[0])
  throw new VendorRefusal(400, wordsOf(problem), problem.unknown === null ? null : 'unknown_parameter')
}

/** A validation problem; `unknown` is the name of a field that the vendor does not have. */
export type Problem = { path: string; message: string; unknown: string | null }

type Issue = z.core.$ZodIssue

/** Finds the innermost problem; in a union, that of the option with the fewest problems. */
function deepest(issue: Issue | undefined, above: readonly PropertyKey[] = []): Problem {
  if (!issue) return { path: '', message: 'invalid', unknown: null }
  const path = [...above, ...issue.path]
  if (issue.code === 'invalid_union') {
    const best = issue.errors.toSorted((one, other) => weight(one) - weight(other))[0]
    if (best?.[0]) return deepest(best[0], path)
  }
  const unknown = issue.code === 'unrecognized_keys' ? (issue.keys[0] ?? null) : null
  const named = unknown === null ? path : [...path, unknown]
  return { path: named.map(String).join('.'), message: issue.message, unknown }
}

function weight(issues: readonly Issue[]): number {
  const isOtherType = issues.some(({ code, path }) => code === 'invalid_value' && /type|role/.test(String(path.at(-1))))
  const isOtherKind = issues.some(({ code, path }) => code === 'invalid_type' && path.length === 0)
  return issues.length + (isOtherType || isOtherKind ? 100 : 0)
}
