import { AppError, type ErrorKind } from '../../core/errors.ts'

/**
 * Reason for a failed outbound request. `unreachable`: blocked, refused or no answer in time, with details only in
 * `cause`. `timeout`: the body did not end in time. `too_large`: over the byte limit. `wrong_type`: unexpected media
 * type. `broken`: truncated or not decodable.
 */
export type EgressFailure = 'unreachable' | 'timeout' | 'too_large' | 'wrong_type' | 'broken'

const KINDS: Readonly<Record<EgressFailure, ErrorKind>> = {
  unreachable: 'upstream_failed',
  timeout: 'upstream_timeout',
  too_large: 'upstream_failed',
  wrong_type: 'upstream_failed',
  broken: 'upstream_failed',
}

const WORDS: Readonly<Record<EgressFailure, string>> = {
  unreachable: 'Could not reach',
  timeout: 'No complete answer in time from',
  too_large: 'Too much content at',
  wrong_type: 'No acceptable content at',
  broken: 'Could not read the answer of',
}

/** Error of the egress client; `url` is the requested URL, never a redirect target. */
export class EgressError extends AppError {
  readonly failure: EgressFailure
  constructor(failure: EgressFailure, url: string, options: ErrorOptions = {}) {
    super(KINDS[failure], `${WORDS[failure]} ${url}`, {}, options)
    this.failure = failure
  }
}
