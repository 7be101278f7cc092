import { z } from 'zod'

const WEB = /^https?$/

/**
 * An http or https URL that somebody sends; its length is looked at first: to read a name of a megabyte takes the parser of
 * URLs many seconds.
 */
export function webUrl(error: string, { max = 2000, tooLong = error }: { max?: number; tooLong?: string } = {}) {
  return z.string(error).max(max, { error: tooLong, abort: true }).url({ protocol: WEB, error })
}
