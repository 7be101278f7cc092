import { z } from 'zod'

const WEB = /^https?$/

/** An http or https URL from a caller; checks the length first, because parsing a megabyte takes seconds. */
export function webUrl(error: string, { max = 2000, tooLong = error }: { max?: number; tooLong?: string } = {}) {
  return z.string(error).max(max, { error: tooLong, abort: true }).url({ protocol: WEB, error })
}
