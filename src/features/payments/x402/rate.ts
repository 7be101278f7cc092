/** What an agent did, from which its fitness is told. Times are milliseconds. */
export type Deeds = {
  completions: { asked: number; succeeded: number }
  uptime: { upMs: number; knownMs: number; repairs: number; looks: number }
  messages: { asked: number; answered: number }
}

export type Rating = {
  score: number
  tier: Tier
  details: { prediction: number; execution: number; coordination: number }
  events: { prediction: number; execution: number; coordination: number }
}

export const TIERS = ['new', 'bronze', 'silver', 'gold'] as const
export type Tier = (typeof TIERS)[number]

/** Per cent that a tier saves. */
const DISCOUNTS: Readonly<Record<Tier, number>> = { new: 0, bronze: 0, silver: 10, gold: 25 }
/** Scores from which a tier begins. */
const SILVER = 60
const GOLD = 80
/** Fewer events say nothing yet. */
const LEAST_EVENTS = 10
/** A repair costs so many points of what uptime gives. */
const REPAIR_POINTS = 5

/**
 * Returns the fitness of an agent: the mean of those dimensions in which something happened, 0 without any; the other
 * dimensions are 0. Prediction is the part
 * of its completions that succeeded, execution the part of the time in which it was up, less its repairs, coordination the
 * part of the messages to it that it answered.
 */
export function rate({ completions, uptime, messages }: Deeds): Rating {
  const known = {
    prediction: percentOf(completions.succeeded, completions.asked),
    execution: executionOf(uptime),
    coordination: percentOf(messages.answered, messages.asked),
  }
  const events = {
    prediction: completions.asked,
    execution: uptime.looks + uptime.repairs,
    coordination: messages.asked,
  }
  const scores = Object.values(known).filter((score) => score !== null)
  const score = scores.length === 0 ? 0 : Math.round(scores.reduce((sum, one) => sum + one, 0) / scores.length)
  const eventCount = Object.values(events).reduce((sum, one) => sum + one, 0)
  const { prediction, execution, coordination } = known
  const details = { prediction: prediction ?? 0, execution: execution ?? 0, coordination: coordination ?? 0 }
  return { score, tier: tierOf(score, eventCount), details, events }
}

/** What a call costs a tier, of a list price in micro-dollars; rounded down to whole ones. */
export function priceOf(listMicroUsd: number, tier: Tier): { microUsd: number; discount: number } {
  const discount = DISCOUNTS[tier]
  return { microUsd: Math.floor((listMicroUsd * (100 - discount)) / 100), discount }
}

function tierOf(score: number, events: number): Tier {
  if (events < LEAST_EVENTS) return 'new'
  if (score >= GOLD) return 'gold'
  return score >= SILVER ? 'silver' : 'bronze'
}

function executionOf({ upMs, knownMs, repairs }: Deeds['uptime']): number | null {
  const percent = percentOf(upMs, knownMs)
  return percent === null ? null : Math.max(0, percent - repairs * REPAIR_POINTS)
}

function percentOf(part: number, whole: number): number | null {
  return whole > 0 ? Math.round((part * 100) / whole) : null
}
